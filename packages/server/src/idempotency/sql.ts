import { sql } from '../platform/db/connection.ts'

/** Read once a statement: each mention of the function reads the clock anew. */
const clock = 'clock as materialized (select service_now() as now)'

/**
 * Claims many records at once, each key given once. Answers with what is there, by place, and then with what was won,
 * by token. Who finds a record that holds writes nothing and locks nothing; one that may be taken over, and that
 * somebody has locked, is passed by. A place that is neither answered by its record nor won asks again: another process
 * was at its record between the look and the write.
 */
export const claimRecords = sql(
  'idempotency.claim',
  `with ${clock},
   asked as materialized (
     select u.w, u.e, u.s, u.f, u.t, u.ttl, u.place, clock.now,
       c.fingerprint, c.lock_token, c.locked_until, c.expires_at, c.status, c.answer_bytes
     from clock cross join
       unnest($1::uuid[], $2::text[], $3::bytea[], $4::bytea[], $5::text[], $6::int[]) with ordinality u(w, e, s, f, t, ttl, place)
     left join idempotency_claims c on c.workspace_id = u.w and c.env = u.e and c.scope_hash = u.s
   ),
   free as materialized (
     select a.place from asked a
     join idempotency_claims c on c.workspace_id = a.w and c.env = a.e and c.scope_hash = a.s and c.lock_token = a.lock_token
     where (a.lock_token <> t and a.expires_at <= now and (a.status is not null or a.locked_until <= now))
       or (a.lock_token <> t and a.status is null and a.locked_until <= now and a.fingerprint = f)
     for update of c skip locked
   ),
   won as (
     insert into idempotency_claims as c
       (workspace_id, env, scope_hash, fingerprint, lock_token, claimed_at, locked_until, ttl_ms, expires_at, kept_until)
     select w, e, s, f, t, now, now + interval '30 seconds', ttl, now + ttl * interval '1 millisecond',
       date_trunc('hour', now + ttl * interval '1 millisecond') + interval '1 hour'
     from asked
     where lock_token is null or place in (select place from free)
     order by w, e, s
     on conflict (workspace_id, env, scope_hash) do update set
       fingerprint = excluded.fingerprint, lock_token = excluded.lock_token, claimed_at = excluded.claimed_at,
       locked_until = excluded.locked_until, ttl_ms = excluded.ttl_ms, expires_at = excluded.expires_at,
       kept_until = excluded.kept_until, status = null, answer_bytes = null
     where (c.expires_at <= excluded.claimed_at and (c.status is not null or c.locked_until <= excluded.claimed_at))
       or (c.status is null and c.locked_until <= excluded.claimed_at and c.fingerprint = excluded.fingerprint)
     returning c.lock_token, c.locked_until
   )
   select place, now, encode(fingerprint, 'hex') as fingerprint, lock_token, locked_until, expires_at, status, answer_bytes
   from asked
   union all
   select null, null, null, lock_token, locked_until, null, null, null from won`,
)

const heldRows =
  'unnest($1::uuid[], $2::text[], $3::bytea[], $4::text[]) with ordinality u(w, e, s, t, place)'

const isAsked = (asked: string) =>
  `c.workspace_id = ${asked}.w and c.env = ${asked}.e and c.scope_hash = ${asked}.s and c.lock_token = ${asked}.t`

/**
 * What the holders of records say of them. Where the token is not that of the record nothing happens. A record that
 * somebody else has locked is passed by, and its caller asks again: so nobody in a batch waits for a record of another,
 * and no two batches for each other.
 */
const mine = (asked: string) => `
  asked as materialized (select * from ${asked}),
  mine as materialized (
    select a.*, c.ctid as stands from asked a join idempotency_claims c on ${isAsked('a')} and c.status is null
    for update of c skip locked
  )`

/**
 * By where a row stands: while it is locked, nothing moves it. `is true` keeps Postgres from walking all rows of the
 * workspace to find it.
 */
const isMine = 'c.ctid = m.stands and (c.workspace_id = m.w) is true'

/** Of what was not done: `held` says whether the token was that of the record, `ended` whether it had its answer before. */
const notDone = `
  select a.place, false as done, c.lock_token is not null as held, c.status is not null as ended
  from asked a left join idempotency_claims c on ${isAsked('a')}
  where a.place not in (select place from done)`

/** Notes answers, each with its body or without. */
const completing = (asked: string, answer: string) => `
  with ${clock}, ${mine(asked)},
  done as (
    update idempotency_claims c
    set status = m.code, answer_bytes = m.bytes, ttl_ms = coalesce(m.ttl, c.ttl_ms),
      expires_at = clock.now + coalesce(m.ttl, c.ttl_ms) * interval '1 millisecond',
      kept_until = date_trunc('hour', clock.now + coalesce(m.ttl, c.ttl_ms) * interval '1 millisecond') + interval '1 hour'
    from mine m cross join clock
    where ${isMine}
    returning m.*, c.expires_at
  ),
  kept as (
    insert into idempotency_bodies (workspace_id, env, scope_hash, lock_token, headers, body, expires_at)
    select w, e, s, t, ${answer}, expires_at from done where bytes is not null
    on conflict (workspace_id, env, scope_hash) do update set
      lock_token = excluded.lock_token, headers = excluded.headers, body = excluded.body, expires_at = excluded.expires_at
  )
  select place, true as done, null::boolean as held, null::boolean as ended from done
  union all ${notDone}`

export const completeRecords = sql(
  'idempotency.complete',
  completing(
    `unnest($1::uuid[], $2::text[], $3::bytea[], $4::text[], $5::smallint[], $6::int[], $7::int[], $8::json[], $9::bytea[])
       with ordinality u(w, e, s, t, code, ttl, bytes, headers, body, place)`,
    'headers, body',
  ),
)

/** One alone, whose answer is too large to be carried through the steps of the statement. */
export const completeLargeRecord = sql(
  'idempotency.complete_large',
  completing(
    `(select $1::uuid, $2::text, $3::bytea, $4::text, $5::smallint, $6::int, $7::int, 1::bigint)
       u(w, e, s, t, code, ttl, bytes, place)`,
    '$8::json, $9::bytea',
  ),
)

/** Waits for whoever has locked it: for a caller who rides with nobody. */
export const lockRecord = sql(
  'idempotency.lock',
  'select from idempotency_claims where workspace_id = $1 and env = $2 and scope_hash = $3 for update',
)

export const releaseRecords = sql(
  'idempotency.release',
  `with ${mine(heldRows)},
   done as (delete from idempotency_claims c using mine m where ${isMine} returning m.place)
   select place, true as done, null::boolean as held, null::boolean as ended from done
   union all ${notDone}`,
)

export const extendLocks = sql(
  'idempotency.extend',
  `with ${clock}, ${mine(heldRows)},
   done as (
     update idempotency_claims c set locked_until = clock.now + interval '30 seconds'
     from mine m cross join clock where ${isMine}
     returning m.place, c.locked_until
   )
   select place, true as done, null::boolean as held, null::boolean as ended, locked_until from done
   union all
   select o.*, null from (${notDone}) o`,
)

export const readAnswers = sql(
  'idempotency.read_answers',
  `select u.place, c.headers::text as headers, c.body
   from ${heldRows} join idempotency_bodies c on c.workspace_id = u.w and c.env = u.e and c.scope_hash = u.s and c.lock_token = u.t`,
)

/** In one order, so that two processes do not wait for each other in a circle. */
export const addStoredBytes = sql(
  'idempotency.add_stored_bytes',
  `insert into idempotency_stored as held (workspace_id, ends_at, bytes)
   select u.w, date_trunc('hour', service_now() + u.h * interval '1 hour') + interval '1 hour', sum(u.b)
   from unnest($1::uuid[], $2::int[], $3::bigint[]) u(w, h, b)
   group by 1, 2 order by 1, 2
   on conflict (workspace_id, ends_at) do update set bytes = held.bytes + excluded.bytes`,
)

export const sumStoredBytes = sql(
  'idempotency.sum_stored_bytes',
  `select coalesce(sum(bytes), 0) as bytes from idempotency_stored
   where workspace_id = $1 and ends_at > service_now()`,
)

export const removeStoredBytes = sql(
  'idempotency.prune_stored_bytes',
  `delete from idempotency_stored where (workspace_id, ends_at) in (
     select workspace_id, ends_at from idempotency_stored
     where ends_at <= service_now() order by ends_at limit $1 for update skip locked)`,
)

/** Where an hour has begun since they expired; a batch passes by what somebody holds. */
export const removeClaims = sql(
  'idempotency.prune_claims',
  `delete from idempotency_claims where (workspace_id, env, scope_hash) in (
     select workspace_id, env, scope_hash from idempotency_claims
     where kept_until <= service_now() and (status is not null or locked_until <= service_now())
     order by kept_until limit $1 for update skip locked)`,
)

/** A body expires with its claim, which nobody reads then. */
export const removeBodies = sql(
  'idempotency.prune_bodies',
  `delete from idempotency_bodies where (workspace_id, env, scope_hash) in (
     select workspace_id, env, scope_hash from idempotency_bodies
     where expires_at <= service_now()
     order by expires_at limit $1 for update skip locked)`,
)

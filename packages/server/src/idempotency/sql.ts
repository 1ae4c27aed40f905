import { sql } from '../platform/db/connection.ts'

/** Read once a statement: each mention of the function reads the clock anew. */
const clock = 'clock as materialized (select service_now() as now)'

/**
 * Claims many records at once, each key given once. Answers with what is there, by place, and then with what was won,
 * by token. Who finds a record that holds writes nothing and locks nothing. A place that is neither answered by its
 * record nor won was lost to another process between the look and the write, and asks again.
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
   won as (
     insert into idempotency_claims as c
       (workspace_id, env, scope_hash, fingerprint, lock_token, claimed_at, locked_until, ttl_ms, expires_at, kept_until)
     select w, e, s, f, t, now, now + interval '30 seconds', ttl, now + ttl * interval '1 millisecond',
       date_trunc('hour', now + ttl * interval '1 millisecond') + interval '1 hour'
     from asked
     where lock_token is null
       or (lock_token <> t and expires_at <= now and (status is not null or locked_until <= now))
       or (lock_token <> t and status is null and locked_until <= now and fingerprint = f)
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

/**
 * Notes answers, each with its body or without. Where the token is not that of the record nothing happens: `held`
 * says whether it was, `ended` whether the record had its answer before.
 */
const completing = (asked: string, answer: string) => `
  with ${clock},
  asked as materialized (
    select u.*, c.lock_token is not null as held, c.status is not null as ended
    from ${asked} left join idempotency_claims c on c.workspace_id = u.w and c.env = u.e and c.scope_hash = u.s and c.lock_token = u.t
  ),
  done as (
    update idempotency_claims c
    set status = a.code, answer_bytes = a.bytes, ttl_ms = coalesce(a.ttl, c.ttl_ms),
      expires_at = clock.now + coalesce(a.ttl, c.ttl_ms) * interval '1 millisecond',
      kept_until = date_trunc('hour', clock.now + coalesce(a.ttl, c.ttl_ms) * interval '1 millisecond') + interval '1 hour'
    from asked a cross join clock
    where c.workspace_id = a.w and c.env = a.e and c.scope_hash = a.s and c.lock_token = a.t and c.status is null
    returning a.*, c.expires_at
  ),
  kept as (
    insert into idempotency_bodies (workspace_id, env, scope_hash, lock_token, headers, body, expires_at)
    select w, e, s, t, ${answer}, expires_at from done where bytes is not null
    on conflict (workspace_id, env, scope_hash) do update set
      lock_token = excluded.lock_token, headers = excluded.headers, body = excluded.body, expires_at = excluded.expires_at
  )
  select place, held, ended, false as done from asked
  union all
  select place, null, null, true from done`

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

const heldRows =
  'unnest($1::uuid[], $2::text[], $3::bytea[], $4::text[]) with ordinality u(w, e, s, t, place)'

export const releaseRecords = sql(
  'idempotency.release',
  `delete from idempotency_claims c using ${heldRows}
   where c.workspace_id = u.w and c.env = u.e and c.scope_hash = u.s and c.lock_token = u.t and c.status is null
   returning u.place`,
)

export const extendLocks = sql(
  'idempotency.extend',
  `with ${clock}
   update idempotency_claims c set locked_until = clock.now + interval '30 seconds'
   from clock cross join ${heldRows}
   where c.workspace_id = u.w and c.env = u.e and c.scope_hash = u.s and c.lock_token = u.t and c.status is null
   returning u.place, c.locked_until`,
)

export const readAnswers = sql(
  'idempotency.read_answers',
  `select u.place, c.headers::text as headers, c.body
   from ${heldRows} join idempotency_bodies c on c.workspace_id = u.w and c.env = u.e and c.scope_hash = u.s and c.lock_token = u.t`,
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

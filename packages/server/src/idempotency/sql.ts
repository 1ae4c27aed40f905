import { claimLockMs } from '@keyrail/contract/claim-rule'
import { sql } from '../platform/db/connection.ts'

/** The statement's one reading of the clock: each mention of the function would read it again. */
const clock = 'clock as materialized (select service_now() as now)'

/** How long a claim holds its record. A heartbeat starts the time anew. */
const lockTime = `interval '${claimLockMs} milliseconds'`

const after = (time: string, milliseconds: string) => `${time} + ${milliseconds} * interval '1 millisecond'`

/**
 * Records are deleted, and stored bytes are counted, by the hour. Completing a claim moves its expiry by seconds and the
 * hour seldom, so that the index by which records are deleted mostly stays as it is.
 */
const endOfHour = (time: string) => `date_trunc('hour', ${time}) + interval '1 hour'`

/**
 * The rule of `claimState` (the contract's) as a condition. A claim may take a record that is over: it has expired, and no request
 * holds it. A claim may also take over an unanswered record whose lock has ended, if it is for the same request.
 */
const mayBeTaken = (record: string, now: string, fingerprint: string) => `(
  (${record}.expires_at <= ${now} and (${record}.status is not null or ${record}.locked_until <= ${now}))
  or (${record}.status is null and ${record}.locked_until <= ${now} and ${record}.fingerprint = ${fingerprint}))`

/**
 * A part of a statement that may answer from a record which it does not write. When the wait of a commit for a synchronous
 * standby is cancelled, Postgres shows what no standby has yet. So where standbys are set, such an answer writes an empty
 * message to the log: then its own commit waits for the message, and so for all that was written before. Without standbys
 * it writes nothing.
 * @param found a query for the records that answer.
 */
const confirming = (found: string) => `confirming as materialized (
     select pg_logical_emit_message(true, 'keyrail', '') from (${found} limit 1) found
     where current_setting('synchronous_standby_names') <> ''
   )`
/** Always true. Postgres runs a part that selects only if something reads it. */
const confirmed = '(select count(*) from confirming) >= 0'

/**
 * Claims many records; no two claims are for the same record. Returns the records as they were found, by place, and then
 * the locks that were won, which have no place.
 *
 * - `asked`: each claim, with the record that it finds. The claim's own columns are named `new_…`.
 * - `free`: the found records that may be taken. A record that another transaction has locked is skipped, so that no
 *   claim waits; a record that holds is neither locked nor written.
 * - `won`: writes the claims whose record is missing or free. The rule is checked again, because another process may have
 *   written the record since it was found.
 *
 * A claim whose record does not hold and that has not won either must be sent again: another process was faster.
 */
export const claimRecords = sql(
  'idempotency.claim',
  `with ${clock},
   asked as materialized (
     select a.workspace_id, a.env, a.scope_hash, a.new_fingerprint, a.new_token, a.ttl_ms, a.place, clock.now,
       c.fingerprint, c.lock_token, c.locked_until, c.expires_at, c.status, c.answer_bytes
     from clock cross join
       unnest($1::uuid[], $2::text[], $3::bytea[], $4::bytea[], $5::text[], $6::int[])
         with ordinality a(workspace_id, env, scope_hash, new_fingerprint, new_token, ttl_ms, place)
     left join idempotency_claims c
       on c.workspace_id = a.workspace_id and c.env = a.env and c.scope_hash = a.scope_hash
   ),
   free as materialized (
     select a.place from asked a
     join idempotency_claims c
       on c.workspace_id = a.workspace_id and c.env = a.env and c.scope_hash = a.scope_hash and c.lock_token = a.lock_token
     where a.lock_token <> a.new_token and ${mayBeTaken('a', 'a.now', 'a.new_fingerprint')}
     for update of c skip locked
   ),
   won as (
     insert into idempotency_claims as c
       (workspace_id, env, scope_hash, fingerprint, lock_token, claimed_at, locked_until, ttl_ms, expires_at, kept_until)
     select workspace_id, env, scope_hash, new_fingerprint, new_token, now, now + ${lockTime}, ttl_ms,
       ${after('now', 'ttl_ms')}, ${endOfHour(after('now', 'ttl_ms'))}
     from asked
     where lock_token is null or place in (select place from free)
     order by workspace_id, env, scope_hash
     on conflict (workspace_id, env, scope_hash) do update set
       fingerprint = excluded.fingerprint, lock_token = excluded.lock_token, claimed_at = excluded.claimed_at,
       locked_until = excluded.locked_until, ttl_ms = excluded.ttl_ms, expires_at = excluded.expires_at,
       kept_until = excluded.kept_until, status = null, answer_bytes = null
     where ${mayBeTaken('c', 'excluded.claimed_at', 'excluded.fingerprint')}
     returning c.lock_token, c.locked_until
   ),
   ${confirming('select from asked where status is not null or lock_token = new_token')}
   select place, now, encode(fingerprint, 'hex') as fingerprint, lock_token, locked_until, expires_at, status, answer_bytes
   from asked where ${confirmed}
   union all
   select null, null, null, lock_token, locked_until, null, null, null from won`,
)

const heldRows = `unnest($1::uuid[], $2::text[], $3::bytea[], $4::text[])
  with ordinality a(workspace_id, env, scope_hash, lock_token, place)`

/** Whether a row of claims or bodies is the one that `asked` names, and was written with its token. */
const isOf = (row: string, asked: string) =>
  `${row}.workspace_id = ${asked}.workspace_id and ${row}.env = ${asked}.env
   and ${row}.scope_hash = ${asked}.scope_hash and ${row}.lock_token = ${asked}.lock_token`

/**
 * The parts that completing, releasing and extending share. Each of these statements also has a part `done`, which changes
 * the rows of `mine`.
 *
 * - `asked`: what the callers ask for, one row each.
 * - `mine`: the unanswered records whose token the caller has, locked. A record that another transaction has locked is
 *   skipped, so that no caller waits for the record of another, and no two batches wait for each other. Its caller asks
 *   again.
 */
const mine = (asked: string) => `
  asked as materialized (select * from ${asked}),
  mine as materialized (
    select a.*, c.ctid as row_at from asked a join idempotency_claims c on ${isOf('c', 'a')} and c.status is null
    for update of c skip locked
  )`

/**
 * Finds a row of `mine` again by its physical position, which cannot change while the row is locked. Without `is true`
 * Postgres would search for it among all rows of the workspace.
 */
const isMine = 'c.ctid = m.row_at and (c.workspace_id = m.workspace_id) is true'

/**
 * The result, one row for each row of `asked`. If nothing was done: `held` says whether the record has the caller's token,
 * and `ended` whether it had its answer already.
 */
const resultOf = (more = { columns: '', none: '' }) => `,
  others as materialized (
    select a.place, c.lock_token, c.status from asked a left join idempotency_claims c on ${isOf('c', 'a')}
    where a.place not in (select place from done)
  ),
  ${confirming('select from others where status is not null')}
  select place, true as done, null::boolean as held, null::boolean as ended${more.columns} from done
  union all
  select place, false, lock_token is not null, status is not null${more.none} from others where ${confirmed}`

/** From the answer's time to live, or else from that of the claim. */
const answerExpires = after('clock.now', 'coalesce(m.new_ttl_ms, c.ttl_ms)')

/** Stores answers. `new_bytes` is null for an answer whose headers and body are not kept. */
const completing = (asked: string, answer: string) => `
  with ${clock}, ${mine(asked)},
  done as (
    update idempotency_claims c
    set status = m.new_status, answer_bytes = m.new_bytes, ttl_ms = coalesce(m.new_ttl_ms, c.ttl_ms),
      expires_at = ${answerExpires}, kept_until = ${endOfHour(answerExpires)}
    from mine m cross join clock
    where ${isMine}
    returning m.*, c.expires_at
  ),
  kept as (
    insert into idempotency_bodies (workspace_id, env, scope_hash, lock_token, headers, body, expires_at)
    select workspace_id, env, scope_hash, lock_token, ${answer}, expires_at from done where new_bytes is not null
    on conflict (workspace_id, env, scope_hash) do update set
      lock_token = excluded.lock_token, headers = excluded.headers, body = excluded.body, expires_at = excluded.expires_at
  )
  ${resultOf()}`

export const completeRecords = sql(
  'idempotency.complete',
  completing(
    `unnest($1::uuid[], $2::text[], $3::bytea[], $4::text[], $5::smallint[], $6::int[], $7::int[], $8::json[], $9::bytea[])
       with ordinality
       a(workspace_id, env, scope_hash, lock_token, new_status, new_ttl_ms, new_bytes, headers, body, place)`,
    'headers, body',
  ),
)

/** Stores one answer that is too large to copy from part to part of the statement: the last part alone names it. */
export const completeLargeRecord = sql(
  'idempotency.complete_large',
  completing(
    `(select $1::uuid, $2::text, $3::bytea, $4::text, $5::smallint, $6::int, $7::int, 1::bigint)
       a(workspace_id, env, scope_hash, lock_token, new_status, new_ttl_ms, new_bytes, place)`,
    '$8::json, $9::bytea',
  ),
)

/** Waits for the transaction that has locked the record. For a caller that is not part of a batch. */
export const lockRecord = sql(
  'idempotency.lock',
  'select from idempotency_claims where workspace_id = $1 and env = $2 and scope_hash = $3 for update',
)

export const releaseRecords = sql(
  'idempotency.release',
  `with ${mine(heldRows)},
   done as (delete from idempotency_claims c using mine m where ${isMine} returning m.place)
   ${resultOf()}`,
)

export const extendLocks = sql(
  'idempotency.extend',
  `with ${clock}, ${mine(heldRows)},
   done as (
     update idempotency_claims c set locked_until = clock.now + ${lockTime}
     from mine m cross join clock where ${isMine}
     returning m.place, c.locked_until
   )
   ${resultOf({ columns: ', locked_until', none: ', null' })}`,
)

export const readAnswers = sql(
  'idempotency.read_answers',
  `select a.place, b.headers::text as headers, b.body
   from ${heldRows} join idempotency_bodies b on ${isOf('b', 'a')}`,
)

/** Every process writes the rows in one order, so that no two wait for each other in a circle. */
export const addStoredBytes = sql(
  'idempotency.add_stored_bytes',
  `insert into idempotency_held as held (workspace_id, env, project_id, ends_at, bytes)
   select a.workspace_id, a.env, a.project_id, ${endOfHour(`service_now() + a.hours * interval '1 hour'`)}, sum(a.bytes)
   from unnest($1::uuid[], $2::text[], $3::uuid[], $4::int[], $5::bigint[]) a(workspace_id, env, project_id, hours, bytes)
   group by 1, 2, 3, 4 order by 1, 2, 3, 4
   on conflict (workspace_id, env, project_id, ends_at) do update set bytes = held.bytes + excluded.bytes`,
)

/** Sums what one project has, or with null what all have. */
export const sumStoredBytes = sql(
  'idempotency.sum_stored_bytes',
  `select coalesce(sum(bytes), 0) as bytes from idempotency_held
   where workspace_id = $1 and env = $2 and ($3::uuid is null or project_id = $3) and ends_at > service_now()`,
)

/** Deletes `$1` rows that are over, those that ended first. Rows that another transaction has locked are skipped. */
const removing = (table: string, key: string, isOver: string, endsAt: string) =>
  `delete from ${table} where (${key}) in (
     select ${key} from ${table} where ${isOver} order by ${endsAt} limit $1 for update skip locked)`

export const removeStoredBytes = sql(
  'idempotency.prune_stored_bytes',
  removing(
    'idempotency_held',
    'workspace_id, env, project_id, ends_at',
    'ends_at <= service_now()',
    'ends_at',
  ),
)

/** What a process of an older release has counted. */
export const removeOldStoredBytes = sql(
  'idempotency.prune_old_stored_bytes',
  removing('idempotency_stored', 'workspace_id, ends_at', 'ends_at <= service_now()', 'ends_at'),
)

/** A record that has expired stays while a request still holds its lock. */
export const removeClaims = sql(
  'idempotency.prune_claims',
  removing(
    'idempotency_claims',
    'workspace_id, env, scope_hash',
    'kept_until <= service_now() and (status is not null or locked_until <= service_now())',
    'kept_until',
  ),
)

/** A body expires together with its claim, and no claim reads it after that. */
export const removeBodies = sql(
  'idempotency.prune_bodies',
  removing(
    'idempotency_bodies',
    'workspace_id, env, scope_hash',
    'expires_at <= service_now()',
    'expires_at',
  ),
)

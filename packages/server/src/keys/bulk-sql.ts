import type { Env } from '@keyrail/contract/shared'
import type { BulkAction, BulkFailure, BulkOperation, KeyFilter } from '@keyrail/contract/vendor/bulk'
import type { Actor } from '../audit/append.ts'
import type { Sight } from '../gate/principal.ts'
import { sql } from '../platform/db/connection.ts'
import { changesOne } from '../platform/db/touch.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import { iso, isoOrNull } from '../platform/time.ts'
import { lockBulkTurn } from './sql.ts'

/** An operation as stored. */
export interface BulkRow {
  id: string
  action: BulkAction
  reason: string | null
  actor_type: Actor['type']
  actor_id: string | null
  envs: Env[]
  project_ids: string[] | null
  /** Null: the keys were named by their ids. */
  filter: KeyFilter | null
  after_id: string | null
  batches: number
  /** Null: more than are counted. */
  places: string[] | null
  matched: number
  done: number
  failures: BulkFailure[]
  created_at: Date
  finished_at: Date | null
}

export const toBulk = (row: BulkRow): BulkOperation => ({
  object: 'bulk_operation',
  id: row.id,
  action: row.action,
  status: row.finished_at === null ? 'running' : 'done',
  matched: row.matched,
  done: row.done,
  failed: row.failures.length,
  failures: row.failures,
  finished_at: isoOrNull(row.finished_at),
  created_at: iso(row.created_at),
})

const columns = `id, action, reason, actor_type, actor_id, envs, project_ids, filter, after_id, batches, places, matched,
  done, failures, created_at, finished_at`

const insertStatement = sql(
  'bulk.insert',
  `insert into bulk_operations (workspace_id, ${columns})
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
)
export const insertBulk = (tx: Tx, row: BulkRow): void =>
  tx.send(insertStatement, [
    tx.workspaceId,
    row.id,
    row.action,
    row.reason,
    row.actor_type,
    row.actor_id,
    row.envs,
    row.project_ids,
    row.filter === null ? null : JSON.stringify(row.filter),
    row.after_id,
    row.batches,
    row.places,
    row.matched,
    row.done,
    JSON.stringify(row.failures),
    row.created_at,
    row.finished_at,
  ])

const find = sql(
  'bulk.find',
  `select ${columns} from bulk_operations where workspace_id = $1 and id = $2
     and envs <@ $3::text[] and ($4::uuid[] is null or project_ids <@ $4)`,
)
/** @returns null for an operation that may have changed keys which the caller cannot see. */
export async function findBulk(tx: ReadTx, id: string, { envs, projectIds }: Sight): Promise<BulkRow | null> {
  const [row] = await tx.query<BulkRow>(find, [tx.workspaceId, id, envs, projectIds])
  return row ?? null
}

const lock = sql(
  'bulk.lock',
  `select ${columns} from bulk_operations where workspace_id = $1 and id = $2 and finished_at is null for update`,
)
/** @returns null when nothing is left to do. */
export async function lockUndoneBulk(tx: Tx, id: string): Promise<BulkRow | null> {
  const [row] = await tx.query<BulkRow>(lock, [tx.workspaceId, id])
  return row ?? null
}

const note = sql(
  'bulk.note',
  changesOne(`update bulk_operations
     set after_id = $3, done = done + $4, places = $5, finished_at = $6, batches = batches + 1
     where workspace_id = $1 and id = $2`),
)
export const noteBatch = (
  tx: Tx,
  id: string,
  {
    after,
    done,
    places,
    finishedAt,
  }: { after: string | null; done: number; places: string[] | null; finishedAt: Date | null },
): void => tx.send(note, [tx.workspaceId, id, after, done, places, finishedAt])

const countRunning = sql(
  'bulk.count_running',
  'select count(*)::int as running from bulk_operations where workspace_id = $1 and finished_at is null',
)
/** How many operations of the workspace are running. Until the commit, no other begins. */
export async function lockRunning(tx: Tx): Promise<number> {
  const [, [row]] = await Promise.all([
    lockBulkTurn(tx),
    tx.query<{ running: number }>(countRunning, [tx.workspaceId]),
  ])
  return row?.running ?? 0
}

const next = sql('bulk.next', 'select workspace_id, id from next_bulks($1)')
export interface UndoneBulk {
  workspaceId: string
  id: string
}
/** One operation of each workspace that no process works on; those come first whose last turn is longest ago. */
export const listNextBulks = async (tx: ReadTx, most: number): Promise<UndoneBulk[]> =>
  (await tx.query<{ workspace_id: string; id: string }>(next, [most])).map(row => ({
    workspaceId: row.workspace_id,
    id: row.id,
  }))

/** How long a process has an operation to itself. Another takes it up when a process was killed so long ago. */
const leaseSeconds = 15
const takeUp = sql(
  'bulk.take_up',
  `update bulk_operations set tried_at = service_now(),
     leased_until = service_now() + make_interval(secs => ${leaseSeconds})
   where workspace_id = $1 and id in (
     select id from bulk_operations where workspace_id = $1 and id = $2 and finished_at is null
       and coalesce(leased_until <= service_now(), true) for update skip locked) returning id`,
)
/** @returns false when another process works on the operation, or it is done. */
export const takeUpBulk = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.query(takeUp, [tx.workspaceId, id])).length > 0

const release = sql(
  'bulk.release',
  'update bulk_operations set leased_until = null where workspace_id = $1 and id = $2',
)
export const releaseBulk = (tx: Tx, id: string): void => tx.send(release, [tx.workspaceId, id])

export const pruneBulkRows = `delete from bulk_operations where (workspace_id, id) in (
     select workspace_id, id from bulk_operations where finished_at < service_now() - interval '7 days'
     limit $1 for update skip locked)`

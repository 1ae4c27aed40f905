import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { Refusal } from '../refusal.ts'
import { sql } from './connection.ts'
import type { Db, WorkOptions } from './db.ts'
import type { Tx, Work } from './transaction.ts'
import { type Chore, untilNone } from './upkeep.ts'

/** One use of an `Idempotency-Key`: its caller, and the request. */
export interface ReplayKey {
  /** The kind and id of the credential, so that keys of two callers never collide. */
  caller: string
  /** Null for a caller that acts in no workspace. */
  workspaceId: string | null
  key: string
  fingerprint: Buffer
  /** The status of the route's success. */
  status: number
}

/** The response of a mutation, or the stored one of the first request under the same key. */
export type Replayable = { body: unknown; replayed?: { status: number } }

const keptHours = 24
const nowhere = '00000000-0000-0000-0000-000000000000'

/** Row-level security shows the rows of one workspace. Rows without a workspace are only visible while this setting is on. */
const enter = sql('replay.enter', `select set_config('app.workspace_id', $1, true)`)

/** If another transaction has inserted the row and not committed yet, this statement waits for it. */
const claim = sql(
  'replay.claim',
  `insert into replays (workspace_id, caller, key, fingerprint) values ($1, $2, $3, $4)
   on conflict (workspace_id, caller, key) do update
     set fingerprint = excluded.fingerprint, status = null, body = null, created_at = excluded.created_at
     where replays.created_at < excluded.created_at - make_interval(hours => ${keptHours})
   returning key`,
)
const find = sql(
  'replay.find',
  `select fingerprint, status, body from replays where workspace_id = $1 and caller = $2 and key = $3`,
)
const record = sql(
  'replay.record',
  `update replays set status = $4, body = $5 where workspace_id = $1 and caller = $2 and key = $3`,
)
/** Only this workspace's rows: to remove all expired rows would scan those of every inactive workspace. */
const prune = sql(
  'replay.prune',
  `delete from replays where workspace_id = $1 and (caller, key) in (
     select caller, key from replays
     where workspace_id = $1 and created_at < service_now() - make_interval(hours => ${keptHours})
     order by created_at limit 100 for update skip locked)`,
)

/** The expired rows of workspaces that send no requests any more. */
const pruneAll = sql(
  'replay.prune_all',
  `delete from replays where (workspace_id, caller, key) in (
     select r.workspace_id, r.caller, r.key from replays r
     where r.created_at < service_now() - make_interval(hours => ${keptHours})
     limit 1000 for update skip locked)`,
)
export const pruneReplays: Chore = {
  name: 'stored answers',
  run: client => untilNone(async () => (await client.query(pruneAll.text)).rowCount ?? 0),
}

/** SHA-256 of the request: method, path and canonical body. */
export const fingerprintOf = (method: string, path: string, body: unknown): Buffer =>
  hash('sha256', canonicalize([method, path, body]) ?? '', 'buffer')

/**
 * Runs a mutation whose response may be requested again. With a replay key, the response is recorded in the mutation's own
 * transaction, so both exist or neither. If several requests with one key arrive at once, one executes, and the others wait for
 * its response and return it.
 * @param redact removes the secret from the response before it is stored.
 * @param options `first` sends statements that must come before the replay key's row, such as `endRights`: a request that holds
 * the right may wait for the row.
 * @throws {Refusal} `idempotency_key_reused` if the key was used for another request.
 */
export async function mutate<T>(
  db: Db,
  workspaceId: string,
  replay: ReplayKey | null,
  work: Work<T>,
  redact: (body: T) => unknown,
  { first = () => {}, ...options }: WorkOptions & { first?: (tx: Tx) => void } = {},
): Promise<Replayable> {
  const workAlone = (tx: Tx): Promise<T> => {
    first(tx)
    return work(tx)
  }
  if (replay === null) return { body: await db.inWorkspace(workspaceId, workAlone, options) }
  const home = replay.workspaceId ?? nowhere
  const id = [home, replay.caller, replay.key]
  const workOnce = async (tx: Tx): Promise<Replayable> => {
    first(tx)
    const move = (to: string) => (home === workspaceId ? undefined : tx.send(enter, [to]))
    move(home)
    const mine = (await tx.query(claim, [...id, replay.fingerprint])).length > 0
    if (!mine) return await stored(tx, id, replay)
    move(workspaceId)
    const body = await work(tx)
    move(home)
    tx.send(record, [...id, replay.status, JSON.stringify(redact(body))])
    tx.send(prune, [home])
    move(workspaceId)
    return { body }
  }
  return await db.inWorkspace(workspaceId, workOnce, options)
}

async function stored(tx: Tx, id: string[], replay: ReplayKey): Promise<Replayable> {
  const [row] = await tx.query<{ fingerprint: Buffer; status: number; body: unknown }>(find, id)
  // The row only disappears between the two statements if it was pruned; the caller can repeat the request.
  if (row === undefined) throw new Refusal('unavailable')
  if (!row.fingerprint.equals(replay.fingerprint)) throw new Refusal('idempotency_key_reused')
  return { body: row.body, replayed: { status: row.status } }
}

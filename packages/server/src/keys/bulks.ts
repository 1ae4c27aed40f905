import type { Clock } from '../platform/clock.ts'
import { Deadline } from '../platform/concurrency/deadline.ts'
import { unbound } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool/pool.ts'
import { holdWorkspace } from '../platform/db/right.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import { policyVersionsOf, type VersionOfChange } from '../policy/changes.ts'
import { type BatchNeeds, changeBatch } from './bulk-batch.ts'
import {
  type BulkRow,
  findBulk,
  listNextBulks,
  lockUndoneBulk,
  noteBatch,
  releaseBulk,
  takeUpBulk,
} from './bulk-sql.ts'
import { walkKeyIds } from './filter-sql.ts'
import { prepareWalks } from './search-sql.ts'

/** Goes on with changes of many keys, in batches after the answer. */
export interface Bulks {
  /** Begins a look for what is undone. */
  wake(): void
  /** The operation as it is now; null: it is gone. */
  read(workspaceId: string, id: string): Promise<BulkRow | null>
  /** The newest version of each of the projects. */
  versionsOf(
    workspaceId: string,
    projectIds: readonly string[],
  ): Promise<ReadonlyMap<string, VersionOfChange>>
  /** Continues undone operations of any process. Each process calls this from time to time. */
  resume(): Promise<void>
  /** Waits for the running batch. */
  close(): Promise<void>
}

interface BulkParts {
  readonly pool: Pick<Pool, 'bind'>
  readonly clock: Clock
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
  readonly log: Logger
}

/** How many keys change in one transaction, so that no lock is held for long. */
export const batchMax = 200
/** How many places of an operation are remembered, to wait for their nodes. */
const placesMax = 200
/** How often each process looks for undone operations. */
const lookMs = 10_000
/** How many operations it continues in one look, each of another workspace. */
const foundMax = 20
/** How long it works on each before the next one has its turn; well below the lease. */
const turnMs = 2_000

/**
 * Changes the next batch of an operation. What was accepted is finished, whatever has become of the caller since: the audit rows
 * name who ordered it.
 * @returns false when nothing is left.
 */
export async function changeNextBatch(deps: BatchNeeds, tx: Tx, id: string): Promise<boolean> {
  // A deletion of the workspace waits for the batch, and the next one finds nothing.
  tx.send(holdWorkspace, [tx.workspaceId])
  const row = await lockUndoneBulk(tx, id)
  if (row === null || row.filter === null) return false
  prepareWalks(tx)
  const { action, reason, envs, project_ids: projectIds, filter, created_at: until } = row
  const choice = { action, filter, envs, projectIds, until }
  const { ids, last } = await walkKeyIds(tx, choice, row.after_id, batchMax)
  const actor = { type: row.actor_type, id: row.actor_id }
  const order = { action, reason, actor, envs, projectIds, id, batch: row.batches + 1 }
  const { done, places } =
    ids.length === 0 ? { done: 0, places: [] } : await changeBatch(deps, tx, order, ids, choice)
  const finishedAt = last === null ? new Date(deps.clock.now()) : null
  noteBatch(tx, id, { after: last, done, places: withPlaces(row.places, places), finishedAt })
  return last !== null
}

/** Null: more than are counted. */
function withPlaces(before: string[] | null, more: string[]): string[] | null {
  if (before === null) return null
  const all = [...new Set([...before, ...more])]
  return all.length > placesMax ? null : all
}

export function openBulks({ pool, clock, makeId, randomBytes, log }: BulkParts): Bulks {
  const own = pool.bind({ ...unbound, party: { kind: 'service', name: 'bulk' } })
  const needs = { clock, randomBytes }
  const closing = new AbortController()

  /** @returns false when another process has it. */
  const takeTurn = async (workspaceId: string, id: string): Promise<boolean> => {
    if (!(await own.inWorkspace(workspaceId, tx => takeUpBulk(tx, id)))) return false
    const deadline = new Deadline(turnMs)
    let isLeft = true
    while (isLeft && !closing.signal.aborted && deadline.leftMs() > 0)
      isLeft = await own.inWorkspace(workspaceId, tx => changeNextBatch(needs, tx, id))
    if (isLeft) await own.inWorkspace(workspaceId, async tx => releaseBulk(tx, id))
    return true
  }
  const resume = async (): Promise<void> => {
    for (;;) {
      // In no workspace: the rows belong to many workspaces, and the function shows only ids.
      const undone = await own.readAtOnce(makeId(), tx => listNextBulks(tx, foundMax))
      if (undone.length === 0) return
      let turns = 0
      for (const { workspaceId, id } of undone) {
        if (closing.signal.aborted) return
        // One that fails keeps its lease for a while, so that the others come first.
        const isTaken = await takeTurn(workspaceId, id).catch(error => {
          log.warn(
            { err: error, workspace_id: workspaceId, bulk_id: id },
            'a change of many keys goes on later',
          )
          return false
        })
        if (isTaken) turns += 1
      }
      // Where nothing can be written, the next look is soon enough.
      if (turns === 0) return
    }
  }

  let looking: Promise<void> | null = null
  let isAsked = false
  const look = () => {
    isAsked = true
    // One look at a time, however long it takes.
    looking ??= (async () => {
      while (isAsked && !closing.signal.aborted) {
        isAsked = false
        await resume().catch(error => log.warn({ err: error }, 'changes of many keys could not be listed'))
      }
      looking = null
    })()
  }
  const timer = setInterval(look, lookMs).unref()
  return {
    wake: look,
    read: (workspaceId, id) =>
      own.readAtOnce(workspaceId, tx => findBulk(tx, id, { envs: ['live', 'test'], projectIds: null })),
    versionsOf: (workspaceId, projectIds) =>
      own.readAtOnce(workspaceId, tx => policyVersionsOf(tx, projectIds)),
    resume,
    async close() {
      closing.abort()
      clearInterval(timer)
      await looking
    },
  }
}

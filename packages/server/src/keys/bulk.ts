import { setTimeout as sleep } from 'node:timers/promises'
import type {
  BulkAction,
  BulkOperation,
  BulkPropagation,
  ChosenKeys,
  KeyCount,
  KeyCountBody,
  SettledBulk,
} from '@keyrail/contract/vendor/bulk'
import { actorOf } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import { type Sight, sightOf, type VendorPrincipal } from '../gate/principal.ts'
import type { Db } from '../platform/db/db.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { changeBatch } from './bulk-batch.ts'
import { type BulkRow, findBulk, insertBulk, lockRunning, toBulk } from './bulk-sql.ts'
import { awaitPlaces } from './bulk-wait.ts'
import { batchMax } from './bulks.ts'
import { countKeys, findKeyIds, type KeyChoice } from './filter-sql.ts'
import { readHygiene } from './hygiene-sql.ts'
import type { KeyNeeds } from './needs.ts'
import { findKeyProject } from './project-sql.ts'
import { prepareWalks } from './search-sql.ts'

/** How many operations of a workspace run at once. */
const runningMax = 5
/** How often a waiting call looks at its operation. */
const lookMs = 100

export async function countMatches(
  { deps, db, principal }: Caller<Pick<KeyNeeds, 'keyTurns'>>,
  { action, filter }: KeyCountBody,
): Promise<KeyCount> {
  takeTurn(deps, principal)
  const sight = sightOf(principal)
  assertFilter(sight, filter)
  const { count } = await db.inWorkspace(principal.workspaceId, tx => {
    prepareWalks(tx)
    return countKeys(tx, { action, filter: lowerIds(filter), ...sight, until: null })
  })
  return { object: 'key_count', count }
}

/** @throws {Refusal} `too_many_requests` */
const takeTurn = ({ keyTurns }: Pick<KeyNeeds, 'keyTurns'>, { kind, id, sessionId }: VendorPrincipal) =>
  keyTurns.many.take(`${kind} ${sessionId ?? id}`)

export async function getBulk(db: Db, principal: VendorPrincipal, id: string): Promise<BulkOperation> {
  const row = await db.readAtOnce(principal.workspaceId, tx => findBulk(tx, id, sightOf(principal)))
  if (row === null) throw new Refusal('not_found')
  return toBulk(row)
}

type Order = ChosenKeys & { reason?: string }

/**
 * Revokes, pauses or resumes many keys. Up to a batch of them change in the transaction that accepts the call; more change after
 * it, so that what was accepted is finished even if the process is killed.
 * @param wait as for `revokeKey`: null does not wait.
 */
export async function changeKeys(
  { deps, db, principal }: Caller<KeyNeeds>,
  action: BulkAction,
  body: Order,
  replay: ReplayKey | null,
  wait: AbortSignal | null,
): Promise<Replayable> {
  const { workspaceId } = principal
  takeTurn(deps, principal)
  const answer = await mutate(
    db,
    workspaceId,
    replay,
    tx => accept({ deps, db, principal }, tx, action, body),
    operation => operation,
  )
  const operation = answer.body as BulkOperation
  const isRunning = operation.status === 'running'
  if (isRunning) deps.bulks.wake()
  if (wait === null) {
    // A repeated call says how far the operation is now.
    const now = isRunning && answer.replayed ? await deps.bulks.read(workspaceId, operation.id) : null
    return now === null ? answer : { ...answer, body: toBulk(now) }
  }
  const settled = await deps.policy.waits.during(wait, gone => settle(deps, workspaceId, operation, gone))
  return { ...answer, body: settled }
}

async function accept(
  { deps, principal }: Caller<KeyNeeds>,
  tx: Tx,
  action: BulkAction,
  { ids: named, filter: given, expect, reason }: Order,
): Promise<BulkOperation> {
  const at = new Date(deps.clock.now())
  const { type: actor_type, id: actor_id } = actorOf(principal)
  const { envs, projectIds } = sightOf(principal)
  const filter = given === undefined ? null : lowerIds(given)
  if (filter !== null) assertFilter({ envs }, filter)
  const begun: BulkRow = {
    id: deps.makeId(),
    action,
    reason: reason ?? null,
    actor_type,
    actor_id,
    envs: filter?.env === undefined ? [...envs] : [filter.env],
    project_ids: narrowed(projectIds, filter?.project_id),
    filter,
    after_id: null,
    batches: 0,
    places: [],
    matched: 0,
    done: 0,
    failures: [],
    created_at: at,
    finished_at: null,
  }
  const choice = filter === null ? null : { action, filter, envs, projectIds, until: null }
  const { ids, matched, newest } =
    choice === null ? distinct(named) : await findExpected(tx, choice, expect ?? 0)
  const row =
    ids === null
      ? // A key that was counted is part of it, also where the clock of its process is ahead.
        await beginRunning(tx, {
          ...begun,
          filter: filter && (await withDays(tx, filter)),
          matched,
          created_at: newest !== null && newest > at ? newest : at,
        })
      : { ...begun, matched, ...(await changeAtOnce({ deps, principal }, tx, begun, ids, choice)) }
  insertBulk(tx, row)
  return toBulk(row)
}

/** Ids that differ by case alone are one key. */
function distinct(named: readonly string[] = []) {
  const ids = [...new Set(named.map(id => id.toLowerCase()))]
  return { ids, matched: ids.length, newest: null }
}

const lowerIds = (filter: KeyChoice['filter']): KeyChoice['filter'] => ({
  ...filter,
  ...(filter.project_id !== undefined && { project_id: filter.project_id.toLowerCase() }),
  ...(filter.tenant_id !== undefined && { tenant_id: filter.tenant_id.toLowerCase() }),
})

/** @throws {Refusal} `env_mismatch`, as for a new key; `validation_failed` for fields that do not go together. */
function assertFilter({ envs }: Pick<Sight, 'envs'>, filter: KeyChoice['filter']): void {
  readHygiene(filter, 'filter.')
  const { env } = filter
  if (env !== undefined && !envs.includes(env)) throw new Refusal('env_mismatch')
}

/** The projects in which an operation can change keys; null: all. */
const narrowed = (projectIds: readonly string[] | null, one: string | undefined): string[] | null =>
  one === undefined ? projectIds && [...projectIds] : (projectIds ?? [one]).filter(id => id === one)

/**
 * @returns the keys, or null if they are more than a batch.
 * @throws {Refusal} `count_changed` when the filter matches another number of keys than the caller has seen.
 */
async function findExpected(tx: Tx, choice: KeyChoice, expect: number) {
  prepareWalks(tx)
  const some = await findKeyIds(tx, choice, batchMax + 1)
  const isAll = some.length <= batchMax
  const { count: matched, newest } = isAll
    ? { count: some.length, newest: null }
    : await countKeys(tx, choice)
  if (matched !== expect) {
    const message = `must be ${matched}, the number of keys that the filter matches now`
    throw new Refusal('count_changed', `expect: ${message}`, { faults: [{ path: 'expect', message }] })
  }
  return { ids: isAll ? some : null, matched, newest }
}

async function changeAtOnce(
  { deps, principal }: Pick<Caller<KeyNeeds>, 'deps' | 'principal'>,
  tx: Tx,
  { id, action, reason, created_at }: BulkRow,
  ids: readonly string[],
  choice: KeyChoice | null,
) {
  const order = { action, reason, actor: actorOf(principal), ...sightOf(principal), id, batch: 1 }
  const ended = { batches: 1, finished_at: created_at }
  if (ids.length === 0) return ended
  const { seen, ...outcome } = await changeBatch(deps, tx, order, ids, choice)
  // Who can see all keys that were named can see what has become of them.
  const isSeen = choice === null && seen.projectIds.length > 0
  return {
    ...outcome,
    ...ended,
    ...(isSeen && { envs: [...seen.envs], project_ids: [...seen.projectIds] }),
  }
}

/** With the days that the project allows now, also where the rule changes while the operation runs. */
async function withDays(tx: Tx, filter: KeyChoice['filter']): Promise<KeyChoice['filter']> {
  if (filter.hygiene !== 'too_old' || filter.project_id === undefined) return filter
  const days = (await findKeyProject(tx, filter.project_id))?.max_key_lifetime_days
  return days == null ? filter : { ...filter, days }
}

/** @throws {Refusal} `too_many_requests` when as many run as a workspace may have. */
async function beginRunning(tx: Tx, row: BulkRow): Promise<BulkRow> {
  if ((await lockRunning(tx)) < runningMax) return row
  throw new Refusal('too_many_requests', `A workspace can have ${runningMax} bulk operations that run.`, {
    headers: { 'retry-after': '10' },
  })
}

/** Waits for the last batch, then until the nodes have it, for as long as one revocation may wait. */
async function settle(
  deps: KeyNeeds,
  workspaceId: string,
  operation: BulkOperation,
  gone: AbortSignal,
): Promise<SettledBulk> {
  const { clock, config, bulks } = deps
  const began = clock.monotonic()
  const leftMs = () => config.revokeWaitMs - (clock.monotonic() - began)
  for (;;) {
    const row = await bulks.read(workspaceId, operation.id).catch(() => null)
    if (row !== null && row.finished_at !== null) {
      const propagation: BulkPropagation = await awaitPlaces(deps, workspaceId, row.places, began, gone)
      return { ...toBulk(row), propagation }
    }
    if (leftMs() <= 0 || gone.aborted) return row === null ? operation : toBulk(row)
    await sleep(Math.min(lookMs, leftMs()), undefined, { signal: gone }).catch(() => {})
  }
}

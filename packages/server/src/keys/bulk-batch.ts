import type { Env } from '@keyrail/contract/shared'
import type { BulkAction, BulkFailure } from '@keyrail/contract/vendor/bulk'
import { type Actor, appendAudit, type Entry } from '../audit/append.ts'
import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { lockPolicyHeads, notePolicyChange } from '../policy/changes.ts'
import { changeMany, findMany, type KeyChoice, lockMany, type ManyRow } from './filter-sql.ts'
import { toTarget } from './resource.ts'

/** What changing a batch needs. */
export interface BatchNeeds {
  readonly clock: Clock
  readonly randomBytes: (size: number) => Buffer
}

/** What is done, by whom, and for which operation. */
export interface BulkOrder extends Pick<KeyChoice, 'envs' | 'projectIds'> {
  readonly action: BulkAction
  readonly reason: string | null
  readonly actor: Actor
  readonly id: string
  /** The number of the batch in its operation, from 1. */
  readonly batch: number
}

export interface BatchOutcome {
  /** Keys that are now as asked for. */
  readonly done: number
  readonly failures: BulkFailure[]
  /** The projects and environments of the keys that changed, and of named keys that were as asked for. */
  readonly places: string[]
  /** Where the keys are that the caller named and can see. */
  readonly seen: { readonly envs: readonly Env[]; readonly projectIds: readonly string[] }
}

/**
 * Changes keys in one transaction: one audit row a key, one version a project. The heads of all their projects are locked
 * before the keys, each in the order of the ids.
 * @param choice leaves out keys that have stopped to match; null: the caller named the keys, and learns what failed.
 */
export async function changeBatch(
  deps: BatchNeeds,
  tx: Tx,
  order: BulkOrder,
  ids: readonly string[],
  choice: KeyChoice | null,
): Promise<BatchOutcome> {
  const found = await findMany(tx, ids, order)
  const projects = [...new Set(found.map(row => row.project_id))]
  const [heads, rows] = await Promise.all([
    lockPolicyHeads(tx, projects),
    lockMany(
      tx,
      found.map(row => row.id),
      choice,
    ),
  ])
  const living = new Set(heads)
  const [changed, failed] = [[] as ManyRow[], [] as string[]]
  for (const row of rows) {
    const verdict = judge(order.action, row, living.has(row.project_id))
    if (verdict === 'change') changed.push(row)
    else if (verdict === 'fail') failed.push(row.id)
  }
  if (changed.length > 0) write(deps, tx, order, changed, living)
  const seen = { envs: [...new Set(found.map(row => row.env))], projectIds: projects }
  // A repeat waits for the nodes too, for which an earlier call may not have waited.
  const settled = choice === null ? rows.filter(row => !failed.includes(row.id)) : changed
  const places = [...new Set(settled.map(row => `${row.project_id} ${row.env}`))].sort()
  if (choice !== null) return { done: changed.length, failures: [], places, seen }
  const there = new Set(rows.map(row => row.id))
  const missing = ids.filter(id => !there.has(id))
  return {
    done: rows.length - failed.length,
    failures: [
      ...missing.map(key_id => ({ key_id, code: 'not_found' as const })),
      ...failed.map(key_id => ({ key_id, code: 'key_not_active' as const })),
    ],
    places,
    seen,
  }
}

/** As the routes of one key: what is there already stays, and a key that has ended is neither paused nor resumed. */
function judge(action: BulkAction, row: ManyRow, isLiving: boolean): 'change' | 'keep' | 'fail' {
  if (action === 'revoke') return row.revoked_at === null ? 'change' : 'keep'
  if (!row.is_active || !isLiving) return 'fail'
  if (action === 'enable') return row.disabled_at === null ? 'keep' : 'change'
  return row.disabled_by === 'vendor' ? 'keep' : 'change'
}

function write(deps: BatchNeeds, tx: Tx, order: BulkOrder, rows: ManyRow[], living: Set<string>): void {
  const { action, reason, actor } = order
  const at = deps.clock.now()
  const idsOf = (some: readonly ManyRow[]) => some.map(row => row.id)
  changeMany(tx, action, idsOf(rows), new Date(at), reason)
  for (const project of living) {
    const keys = idsOf(rows.filter(row => row.project_id === project))
    if (keys.length > 0) notePolicyChange(tx, project, keys)
  }
  appendAudit(
    deps,
    tx,
    actor,
    at,
    rows.map(row => entryOf(order, row)),
  )
}

function entryOf({ action, reason, id, batch }: BulkOrder, row: ManyRow): Entry {
  const bulk = { id, batch }
  const target = toTarget(row)
  if (action === 'revoke') return { ...target, action: 'api_key.revoked', payload: { reason, bulk } }
  if (action === 'disable')
    return { ...target, action: 'api_key.disabled', payload: { reason, disabled_by: 'vendor', bulk } }
  return { ...target, action: 'api_key.enabled', payload: { disabled_by: row.disabled_by, bulk } }
}

import type { Env } from '@keyrail/contract/shared'
import type { KeyStatus } from '@keyrail/contract/vendor/keys'
import { isActiveSql } from '../lifecycle/active.ts'
import { type Statement, sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { ListBounds } from '../platform/paging/list-leg.ts'
import type { Listed } from '../platform/paging/listed.ts'
import type { PrefixRange } from '../platform/paging/prefix.ts'
import type { WalkPosition } from '../platform/paging/walks.ts'
import { foundByWord, isFirstFound } from '../platform/paging/words.ts'
import { type Hygiene, hygieneSql } from './hygiene-sql.ts'
import type { KeyRow } from './rows.ts'
import { keyColumns } from './sql.ts'

/** The order of a walk. Each order has an index that starts with workspace and environment. */
export type KeyOrder =
  | 'id'
  | 'oldest'
  | 'name'
  | 'display_prefix'
  | 'word'
  | 'expiring'
  | 'expired'
  | 'endless'
  | 'idle'

export interface KeyWalk {
  readonly order: KeyOrder
  readonly env: Env
  readonly isRevoked: boolean
  /** Narrows the keys that are not revoked further. */
  readonly status: KeyStatus | null
  readonly hygiene: Hygiene | null
  /** For the orders `name`, `display_prefix` and `word`. */
  readonly range: PrefixRange | null
  /** The id of the only key to return; with another order than `id`, the id of the only key to leave out. */
  readonly id: string | null
  readonly projectIds: readonly string[] | null
  readonly projectId: string | null
  readonly tenantId: string | null
  /** The only name. */
  readonly name: string | null
}

/** With the folded texts, which order the walks of a search. */
export interface FoundKeyRow extends KeyRow {
  name_folded: string | null
  display_prefix_folded: string
  /** The later word of the name that was found; null if none was. */
  word: string | null
  idle_since: Date
}

const expiring = `expires_at > service_now() and expires_at <= service_now() + interval '14 days'`
const statusSql: Record<Exclude<KeyStatus, 'revoked'>, string> = {
  active: `${isActiveSql('api_keys')} and disabled_at is null`,
  expiring: `${expiring} and disabled_at is null`,
  disabled: `${isActiveSql('api_keys')} and disabled_at is not null`,
  expired: 'expires_at <= service_now()',
}

/** The column of each order, its SQL type, and its direction. */
const orders: Record<KeyOrder, { column: string; type: string; isFalling: boolean }> = {
  id: { column: 'id', type: 'uuid', isFalling: true },
  oldest: { column: 'id', type: 'uuid', isFalling: false },
  name: { column: 'name_folded', type: 'text', isFalling: false },
  display_prefix: { column: 'display_prefix_folded', type: 'text', isFalling: false },
  word: { column: 'w.word', type: 'text', isFalling: false },
  expiring: { column: 'expires_at', type: 'timestamptz', isFalling: false },
  expired: { column: 'expires_at', type: 'timestamptz', isFalling: true },
  endless: { column: 'expires_at', type: 'timestamptz', isFalling: false },
  idle: { column: 'idle_since', type: 'timestamptz', isFalling: false },
}
/** These indexes have no key that is revoked; every other index has them first. */
const ofUnrevoked: ReadonlySet<KeyOrder> = new Set(['expiring', 'expired', 'endless', 'idle'])
/** Ids order these. */
const byId: ReadonlySet<KeyOrder> = new Set(['id', 'oldest', 'endless'])

export const isFalling = (order: KeyOrder): boolean => orders[order].isFalling

const statements = new Map<string, Statement>()

/** One statement per combination of filters: each has only the conditions that apply, so that it gets the best index. */
export function keyWalkStatement(
  workspaceId: string,
  walk: KeyWalk,
  after: WalkPosition | null,
  most: number,
): { statement: Statement; values: unknown[] } {
  const { order, status, range, id, projectIds, projectId, tenantId, name } = walk
  const { column, type, isFalling: falls } = orders[order]
  const row = order === 'word' ? 'w.found_id' : 'id'
  const values: unknown[] = [workspaceId, walk.env]
  const mark = (value: unknown) => `$${values.push(value)}`
  const conditions = [ofUnrevoked.has(order) ? 'revoked_at is null' : `is_revoked = ${mark(walk.isRevoked)}`]
  const letters: string[] = []
  const add = (letter: string, condition: string) => {
    letters.push(letter)
    conditions.push(condition)
  }
  if (status !== null && status !== 'revoked') add(status, statusSql[status])
  if (walk.hygiene !== null) add(`h.${walk.hygiene.hygiene}`, hygieneSql(walk.hygiene, mark))
  let from = 'api_keys'
  if (range !== null) {
    const [first, last] = [mark(range.first), mark(range.last)]
    // A key that is found by its name is not found again by its prefix, nor by a later word of its name.
    if (order === 'word') {
      const list = mark(`api_key ${walk.env}${walk.isRevoked ? ' revoked' : ''}`)
      const words = { list, of: 'api_keys', first, last }
      from = foundByWord('api_keys', words)
      add('q', `display_prefix_folded not between ${first} and ${last} and ${isFirstFound(words)}`)
    } else add('q', `${column} between ${first} and ${last}`)
    if (order === 'display_prefix')
      conditions.push(`coalesce(name_folded not between ${first} and ${last}, true)`)
  }
  if (id !== null) add('i', order === 'id' ? `id = ${mark(id)}` : `id <> ${mark(id)}`)
  if (projectIds !== null) add('b', `project_id = any(${mark(projectIds)}::uuid[])`)
  if (projectId !== null) add('p', `project_id = ${mark(projectId)}`)
  if (tenantId !== null) add('t', `tenant_id = ${mark(tenantId)}`)
  if (name !== null) add('n', `name = ${mark(name)}`)
  if (after !== null) {
    const sign = falls ? '<' : '>'
    if (byId.has(order)) add('a', `id ${sign} ${mark(after.id)}`)
    else add('a', `(${column}, ${row}) ${sign} (${mark(after.value)}::${type}, ${mark(after.id)}::uuid)`)
  }
  const direction = falls ? 'desc' : 'asc'
  const by = column === 'id' ? `id ${direction}` : `${column} ${direction}, ${row} ${direction}`
  const called = ['keys.walk', order, ...letters].join('.')
  const limit = mark(most)
  let statement = statements.get(called)
  if (statement === undefined) {
    statement = sql(
      called,
      `select ${keyColumns}, name_folded, display_prefix_folded, idle_since, ${order === 'word' ? column : 'null'} as word from ${from}
       where workspace_id = $1 and env = $2 and ${conditions.join(' and ')} order by ${by} limit ${limit}`,
    )
    statements.set(called, statement)
  }
  return { statement, values }
}

/**
 * A plan for any value would read all keys in the order of the walk to find the few keys of one project. Planning anew takes
 * less than a millisecond.
 */
const planForValues = sql('keys.plan_for_values', 'set local plan_cache_mode = force_custom_plan')
/** Runs before the walks of a transaction. */
export const prepareWalks = (tx: Tx) => tx.send(planForValues)

export function walkKeys(
  tx: Tx,
  walk: KeyWalk,
  after: WalkPosition | null,
  bounds: ListBounds,
): Promise<Listed<FoundKeyRow>> {
  const { statement, values } = keyWalkStatement(tx.workspaceId, walk, after, bounds.most)
  return tx.list<FoundKeyRow>(statement, values, bounds)
}

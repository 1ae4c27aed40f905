import type { Env } from '@keyrail/contract/shared'
import type { BulkAction, KeyFilter } from '@keyrail/contract/vendor/bulk'
import { isActiveKeySql } from '../lifecycle/active.ts'
import { type Statement, sql } from '../platform/db/connection.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import { dateOrNull } from '../platform/time.ts'
import { hygieneOf, hygieneSql } from './hygiene-sql.ts'
import type { KeyRow } from './rows.ts'

/** The keys that a filter finds for an action: those that the caller can see, and on which the action does something. */
export interface KeyChoice {
  readonly action: BulkAction
  readonly filter: KeyFilter
  readonly envs: readonly Env[]
  /** Null: all projects. */
  readonly projectIds: readonly string[] | null
  /** Keys that were created, or paused, later are left out; null: there are none. */
  readonly until: Date | null
}

/** The clock is read once a statement, not for each row. */
const isActive = isActiveKeySql('api_keys', '(select service_now())')
const does: Record<BulkAction, string> = {
  revoke: isActive,
  // A pause of the vendor takes the place of a tenant's, which the tenant could end.
  disable: `${isActive} and disabled_by is distinct from 'vendor'`,
  enable: `${isActive} and disabled_at is not null`,
}

type Mark = (value: unknown) => string

/** @returns the conditions on a key, and letters that name which of them there are. */
function conditionsOf(
  { action, filter, envs, projectIds, until }: KeyChoice,
  mark: Mark,
): { letters: string; all: string[] } {
  const all = [does[action], `env = any(${mark(envsOf(filter, envs))}::text[])`]
  let letters = action as string
  const add = (letter: string, condition: string) => {
    letters += `.${letter}`
    all.push(condition)
  }
  if (projectIds !== null) add('b', `project_id = any(${mark(projectIds)}::uuid[])`)
  if (filter.project_id !== undefined) add('p', `project_id = ${mark(filter.project_id)}`)
  if (filter.tenant_id !== undefined) add('t', `tenant_id = ${mark(filter.tenant_id)}`)
  if (filter.name !== undefined) {
    const name = mark(filter.name)
    add('n', `name_folded = lower(left(${name}, 64) collate "C") and name = ${name}`)
  }
  if (filter.created_before !== undefined) add('c', `created_at < ${mark(dateOrNull(filter.created_before))}`)
  if (filter.unused_since !== undefined) {
    const time = mark(dateOrNull(filter.unused_since))
    // The index has when a key was used at the earliest, up to a week before its last use; the second condition is exact.
    add('u', `revoked_at is null and idle_since < ${time} and coalesce(last_used_at, created_at) < ${time}`)
  }
  const time = until === null ? null : mark(until)
  const hygiene = hygieneOf(filter)
  // What a running operation finds was so when it began: a rule that changes meanwhile changes no further key.
  if (hygiene !== null)
    add(
      `h.${hygiene.hygiene}${hygiene.days === null ? '' : '.d'}`,
      hygieneSql(hygiene, mark, time === null ? undefined : `${time}::timestamptz`),
    )
  if (time !== null) {
    // Keys that are made, imported or paused, after the operation began are not part of it.
    add(
      'l',
      `coalesce(imported_at, created_at) <= ${time}${action === 'enable' ? ` and disabled_at <= ${time}` : ''}`,
    )
  }
  return { letters, all }
}

const envsOf = ({ env }: KeyFilter, envs: readonly Env[]) => (env === undefined ? envs : [env])

/** One statement per combination of conditions, so that each gets the index that fits it. */
const statements = new Map<string, Statement>()
function prepared(name: string, text: () => string): Statement {
  let statement = statements.get(name)
  if (statement === undefined) {
    statement = sql(name, text())
    statements.set(name, statement)
  }
  return statement
}

function marking(workspaceId: string): { values: unknown[]; mark: Mark } {
  const values: unknown[] = [workspaceId]
  return { values, mark: value => `$${values.push(value)}` }
}

/** Counts the keys. */
export function countStatement(workspaceId: string, choice: KeyChoice) {
  const { values, mark } = marking(workspaceId)
  const { letters, all } = conditionsOf(choice, mark)
  const statement = prepared(
    `keys.count.${letters}`,
    () => `select count(*)::int as count, max(greatest(created_at, imported_at, disabled_at)) as newest
     from api_keys where workspace_id = $1 and ${all.join(' and ')}`,
  )
  return { statement, values }
}

/** `newest`: when the last of them was made, imported or paused; null where there is none. */
export async function countKeys(
  tx: ReadTx,
  choice: KeyChoice,
): Promise<{ count: number; newest: Date | null }> {
  const { statement, values } = countStatement(tx.workspaceId, choice)
  const [row] = await tx.query<{ count: number; newest: Date | null }>(statement, values)
  return row ?? { count: 0, newest: null }
}

/** At most `most` of the keys, in no order. */
export async function findKeyIds(tx: Tx, choice: KeyChoice, most: number): Promise<string[]> {
  const { values, mark } = marking(tx.workspaceId)
  const { letters, all } = conditionsOf(choice, mark)
  const limit = mark(most)
  const statement = prepared(
    `keys.find_ids.${letters}`,
    () => `select id from api_keys where workspace_id = $1 and ${all.join(' and ')} limit ${limit}`,
  )
  return (await tx.query<{ id: string }>(statement, values)).map(({ id }) => id)
}

/** How many keys one statement looks at, for each project, or each environment: a statement takes some milliseconds. */
const lookedAtMax = 2_000

/** The next keys in the order of their ids, and where to go on. */
export interface Walked {
  readonly ids: string[]
  /** The last key that was looked at; null: none is left. */
  readonly last: string | null
}

/**
 * The conditions that an index has: by tenant, by project, or by environment, where names and paused keys have their own. Only the
 * indexes with revocation before the id have both in order: the primary key would read all revoked keys too.
 */
function walkedBy({ action, filter, envs, projectIds }: KeyChoice, mark: Mark) {
  const { tenant_id, project_id, name } = filter
  const order = 'is_revoked, id'
  if (tenant_id !== undefined)
    return { parts: '(select) one', part: `tenant_id = ${mark(tenant_id)}`, narrower: '', order }
  const projects = project_id === undefined ? projectIds : [project_id]
  if (projects !== null && name === undefined) {
    const parts = `unnest(${mark(projects)}::uuid[]) p(walked_project)`
    return { parts, part: 'project_id = p.walked_project', narrower: '', order }
  }
  const byEnv = {
    parts: `unnest(${mark(envsOf(filter, envs))}::text[]) e(walked_env)`,
    part: 'env = e.walked_env',
  }
  if (name !== undefined)
    return { ...byEnv, narrower: `and name_folded = lower(left(${mark(name)}, 64) collate "C")`, order }
  return action === 'enable'
    ? { ...byEnv, narrower: 'and disabled_at is not null', order: 'id' }
    : { ...byEnv, narrower: '', order }
}

/**
 * Reads the next keys behind an id. The keys are read in the order of an index, up to a number of them whatever matches, so that
 * each step takes the same time, also where few keys match.
 */
export function walkStatement(workspaceId: string, choice: KeyChoice, after: string | null, most: number) {
  const { values, mark } = marking(workspaceId)
  const { letters, all } = conditionsOf(choice, mark)
  const step = mark(lookedAtMax)
  const wanted = mark(most)
  const behind = after === null ? 'true' : `id > ${mark(after)}`
  const { parts, part, narrower, order } = walkedBy(choice, mark)
  const statement = prepared(
    `keys.walk_many.${letters}${after === null ? '' : '.a'}`,
    () => `with looked as materialized (
       select found.id, found.matches from ${parts} cross join lateral (
         select id, (${all.join(' and ')}) as matches from api_keys
         where workspace_id = $1 and not is_revoked and ${part} ${narrower} and ${behind}
         order by ${order} limit ${step}) found
       order by found.id limit ${step})
     select array(select id from looked where matches order by id limit ${wanted}) as ids,
       (select id from looked order by id offset ${step} - 1 limit 1) as last`,
  )
  return { statement, values }
}

export async function walkKeyIds(
  tx: Tx,
  choice: KeyChoice,
  after: string | null,
  most: number,
): Promise<Walked> {
  const { statement, values } = walkStatement(tx.workspaceId, choice, after, most)
  const [row] = await tx.query<Walked>(statement, values)
  const { ids = [], last = null } = row ?? {}
  return { ids, last: ids.length === most ? (ids.at(-1) ?? null) : last }
}

/** A key as a change of many needs it. */
export type ManyRow = Pick<
  KeyRow,
  'id' | 'project_id' | 'env' | 'revoked_at' | 'disabled_at' | 'disabled_by'
> & { is_active: boolean }

const findStatement = sql(
  'keys.find_many',
  `select id, project_id, env from api_keys where workspace_id = $1 and id = any($2::uuid[])
     and env = any($3::text[]) and ($4::uuid[] is null or project_id = any($4))`,
)
/** Which of the keys the caller can see, and where they are. */
export const findMany = (
  tx: Tx,
  ids: readonly string[],
  { envs, projectIds }: Pick<KeyChoice, 'envs' | 'projectIds'>,
) =>
  tx.query<Pick<KeyRow, 'id' | 'project_id' | 'env'>>(findStatement, [tx.workspaceId, ids, envs, projectIds])

/**
 * Locks keys in the order of their ids. The caller locks the policy heads of their projects before.
 * @param choice leaves out the keys that no longer match; null: none.
 */
export function lockMany(tx: Tx, ids: readonly string[], choice: KeyChoice | null): Promise<ManyRow[]> {
  const { values, mark } = marking(tx.workspaceId)
  const named = mark(ids)
  const { letters, all } = choice === null ? { letters: 'ids', all: [] } : conditionsOf(choice, mark)
  const statement = prepared(
    `keys.lock_many.${letters}`,
    () => `select id, project_id, env, revoked_at, disabled_at, disabled_by, ${isActiveKeySql('api_keys')} as is_active
     from api_keys where ${['workspace_id = $1', `id = any(${named}::uuid[])`, ...all].join(' and ')}
     order by id for update`,
  )
  return tx.query<ManyRow>(statement, values)
}

const which = 'where workspace_id = $1 and id = any($2::uuid[])'
const changes: Record<BulkAction, Statement> = {
  revoke: sql(
    'keys.revoke_many',
    `update api_keys set revoked_at = $3, revoked_reason = $4, updated_at = $3 ${which}`,
  ),
  disable: sql(
    'keys.disable_many',
    `update api_keys set disabled_at = $3, disabled_reason = $4, disabled_by = 'vendor', updated_at = $3 ${which}`,
  ),
  enable: sql(
    'keys.enable_many',
    `update api_keys set disabled_at = null, disabled_reason = null, disabled_by = null, updated_at = $3 ${which}`,
  ),
}
/** Changes keys that the caller has locked. */
export const changeMany = (
  tx: Tx,
  action: BulkAction,
  ids: readonly string[],
  at: Date,
  reason: string | null,
): void => tx.send(changes[action], [tx.workspaceId, ids, at, ...(action === 'enable' ? [] : [reason])])

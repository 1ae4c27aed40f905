import type { RateLimit } from '@keyrail/contract/shared'
import type { Lifetime } from '@keyrail/contract/vendor/projects'
import { sql } from '../platform/db/connection.ts'
import { versionSql } from '../platform/db/failover/raised.ts'
import { changesOne } from '../platform/db/touch.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import type { ListBounds } from '../platform/paging/list-leg.ts'
import type { PrefixRange } from '../platform/paging/prefix.ts'
import type { WalkPosition } from '../platform/paging/walks.ts'
import { foundByWord, isFirstFound } from '../platform/paging/words.ts'

export interface ProjectRow {
  id: string
  name: string
  slug: string
  key_prefix: string
  default_rate_limits: RateLimit[]
  /** Null: none. */
  known_scopes: string[] | null
  strict_scopes: boolean
  /** Null: any. */
  max_key_lifetime_days: number | null
  lifetime: Lifetime
  delete_protection: boolean
  accepts_imported: boolean
  created_at: Date
  updated_at: Date
}
/** With the version of its policy head, which is a separate table. */
export interface VersionedProjectRow extends ProjectRow {
  policy_version: number
}

const columns = `p.id, p.name, p.slug, p.key_prefix, p.default_rate_limits, p.known_scopes, p.strict_scopes,
  p.max_key_lifetime_days, p.lifetime, p.delete_protection, p.accepts_imported,
  p.created_at, p.updated_at`

const slugTaken = { projects_slug_unique: 'slug_taken' } as const

const insert = sql(
  'projects.insert',
  `insert into projects (workspace_id, id, name, slug, key_prefix, default_rate_limits, known_scopes, strict_scopes,
     created_at, updated_at, max_key_lifetime_days, lifetime, delete_protection)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11, $12)`,
  slugTaken,
)
export const insertProject = (tx: Tx, row: ProjectRow) =>
  tx.send(insert, [
    tx.workspaceId,
    row.id,
    row.name,
    row.slug,
    row.key_prefix,
    JSON.stringify(row.default_rate_limits),
    row.known_scopes,
    row.strict_scopes,
    row.created_at,
    row.max_key_lifetime_days,
    row.lifetime,
    row.delete_protection,
  ])

const find = sql(
  'projects.find',
  `select ${columns}, ${versionSql('h')} as policy_version
   from projects p join policy_heads h on h.workspace_id = p.workspace_id and h.project_id = p.id
   where p.workspace_id = $1 and p.id = $2 and p.deleted_at is null`,
)
export async function findProject(tx: ReadTx, id: string): Promise<VersionedProjectRow | null> {
  const [row] = await tx.query<VersionedProjectRow>(find, [tx.workspaceId, id])
  return row ?? null
}

const lock = sql(
  'projects.lock',
  `select ${columns} from projects p where p.workspace_id = $1 and p.id = $2 and p.deleted_at is null
   for no key update`,
)
export async function lockProject(tx: Tx, id: string): Promise<ProjectRow | null> {
  const [row] = await tx.query<ProjectRow>(lock, [tx.workspaceId, id])
  return row ?? null
}

const list = sql(
  'projects.list',
  `select ${columns}, ${versionSql('h')} as policy_version
   from projects p join policy_heads h on h.workspace_id = p.workspace_id and h.project_id = p.id
   where p.workspace_id = $1 and p.deleted_at is null and ($2::uuid is null or p.id < $2)
     and ($4::uuid[] is null or p.id = any($4)) and ($5::text is null or p.slug = $5)
   order by p.id desc limit $3`,
)
/**
 * Newest first, one row more than the limit.
 * @param projectIds the only projects to list; null: all.
 * @param slug the only project to list; null: all.
 */
export const listProjectRows = (
  tx: ReadTx,
  projectIds: readonly string[] | null,
  slug: string | null,
  before: string | null,
  limit: number,
) =>
  tx.list<VersionedProjectRow>(list, [tx.workspaceId, before, limit + 1, projectIds, slug], {
    most: limit + 1,
  })

/** With the texts that order a search. */
export interface FoundProjectRow extends VersionedProjectRow {
  name_folded: string
  /** Null where the name itself was found. */
  word: string | null
}
/** @param place what orders the search: a text and the id */
const search = (
  name: string,
  place: string,
  { from, word, more }: Record<'from' | 'word' | 'more', string>,
) => {
  const found = `select ${columns}, p.name_folded, ${word} as word, ${versionSql('h')} as policy_version
   from ${from} join policy_heads h on h.workspace_id = p.workspace_id and h.project_id = p.id
   where p.workspace_id = $1 and p.deleted_at is null and ${more}
     and ($4::uuid is null or p.id <> $4) and ($5::uuid[] is null or p.id = any($5))`
  const order = `order by ${place} limit $6`
  return {
    first: sql(`projects.search.${name}`, `${found} ${order}`),
    next: sql(`projects.search.${name}.next`, `${found} and (${place}) > ($7, $8::uuid) ${order}`),
  }
}
const words = { list: `'project'`, of: 'p', first: '$2', last: '$3' }
export const projectSearches = {
  name: search('name', 'p.name_folded, p.id', {
    from: 'projects p',
    word: 'null',
    more: 'p.name_folded between $2 and $3',
  }),
  word: search('word', 'w.word, w.found_id', {
    from: foundByWord('projects p', words),
    word: 'w.word',
    more: isFirstFound(words),
  }),
}
/**
 * Projects whose name, or a further word of it, begins with a prefix, in the order of the name or the word.
 * @param id is left out.
 * @param projectIds the only projects to find; null: all.
 */
export const searchProjectRows = (
  tx: Tx,
  by: keyof typeof projectSearches,
  { first, last }: PrefixRange,
  { id, projectIds }: { id: string | null; projectIds: readonly string[] | null },
  after: WalkPosition | null,
  bounds: ListBounds,
) => {
  const statement = projectSearches[by][after === null ? 'first' : 'next']
  const place = after === null ? [] : [after.value, after.id]
  const values = [tx.workspaceId, first, last, id, projectIds, bounds.most, ...place]
  return tx.list<FoundProjectRow>(statement, values, bounds)
}

const update = sql(
  'projects.update',
  `update projects set name = $3, slug = $4, default_rate_limits = $5, known_scopes = $6, strict_scopes = $7,
     updated_at = $8, max_key_lifetime_days = $9, lifetime = $10, delete_protection = $11
   where workspace_id = $1 and id = $2`,
  slugTaken,
)
export const updateProjectRow = (tx: Tx, row: ProjectRow) =>
  tx.send(update, [
    tx.workspaceId,
    row.id,
    row.name,
    row.slug,
    JSON.stringify(row.default_rate_limits),
    row.known_scopes,
    row.strict_scopes,
    row.updated_at,
    row.max_key_lifetime_days,
    row.lifetime,
    row.delete_protection,
  ])

const remove = sql(
  'projects.delete',
  changesOne(
    'update projects set deleted_at = $3, updated_at = $3 where workspace_id = $1 and id = $2 and deleted_at is null',
  ),
)
/** Keeps the row of a deleted project: its keys stay readable, and its slug is free again. */
export const markProjectDeleted = (tx: Tx, id: string, at: Date) => tx.send(remove, [tx.workspaceId, id, at])

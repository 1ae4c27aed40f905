import type { SnapshotQuery } from '@keyrail/contract/feed'
import type { VendorPrincipal } from '../gate/principal.ts'
import type { PolicyHead } from '../gate/read-head.ts'
import type { Answer, Call } from '../gate/route.ts'
import { Deadline } from '../platform/concurrency/deadline.ts'
import type { Db } from '../platform/db/db.ts'
import { matches } from '../platform/http/body/shared-body.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import type { PolicyNeeds } from './needs.ts'
import { heldBy } from './nodes.ts'
import { type HeadOfBody, sendPage, toPage } from './page-body.ts'
import type { FeedPage } from './pages.ts'
import { headReadWith } from './polls.ts'
import { etagOf, type FeedScope, scopeName, scopeOf } from './scope.ts'
import { readSnapshotPage } from './sql.ts'

/** The position of a walk: the version at which it began, and the last id of its last page. */
interface Position {
  version: number
  after: string
}

/**
 * Bytes of a page: twice what 5,000 keys of the usual 350 bytes have. A key with 64 scopes of 200 characters has 50 KiB, so
 * a page may end earlier; its cursor continues there.
 */
export const pageBytesMax = 4 * 1_048_576
/** Bytes of a snapshot that is sent whole: 2 KiB for each key of the limit, within fixed bounds. */
const wholeBytesMax = (keys: number) => Math.max(pageBytesMax, Math.min(2_048 * keys, 48 * 1_048_576))

const start = '00000000-0000-0000-0000-000000000000'

export async function answerSnapshot(
  deps: PolicyNeeds,
  call: Call<VendorPrincipal, SnapshotQuery, unknown>,
): Promise<Answer> {
  const { query } = call
  const scope = scopeOf(deps.policy.statements.features, call.principal, query)
  const at = query.cursor === undefined ? null : openCursor(deps, scope, query.cursor)
  let head = headReadWith(call.principal, scope.projectId)
  if (head === undefined) head = await deps.policy.heads.run(scope, call.deadline)
  if (head === null) throw new Refusal('not_found')
  if (query.node !== undefined && at === null && !head.deleted) {
    // During its first walk a node may already hold a key that is being revoked, so it counts as live from here on.
    await deps.policy.nodes.note({
      ...scope,
      ...heldBy(query),
      sees: scope.env ?? 'both',
      node: query.node,
      version: 0,
      floor: head.floor,
    })
  }
  return await sendSnapshot(deps, call, scope, head, at)
}

/** A page of a walk, the first one when `at` is null. A delta whose changes are not known returns it too. */
export async function sendSnapshot(
  deps: PolicyNeeds,
  call: Pick<Call<VendorPrincipal, { max_keys?: number }, unknown>, 'db' | 'deadline' | 'header' | 'query'>,
  scope: FeedScope,
  head: PolicyHead,
  at: Position | null = null,
): Promise<Answer> {
  const { config, policy } = deps
  const { max_keys } = call.query
  const isWhole = max_keys === undefined
  const limit = isWhole ? config.policyMaxWholeKeys : Math.min(max_keys, config.policyMaxPageKeys)
  const { version, after } = at ?? { version: head.version, after: start }
  const page = `-${head.deleted ? 'deleted' : limit}-${after}`
  const etag = etagOf(scope, version, page)
  const headers = { etag, vary: 'accept-encoding', 'cache-control': 'private, no-cache' }
  if (matches(call.header('if-none-match'), etag)) return { body: null, status: 304, headers }

  const name = `snapshot ${scopeName(scope)} ${version}${page} ${isWhole ? 'whole' : 'paged'}`
  const { body } = await policy.pages.share(name, call.deadline, () =>
    head.deleted
      ? Promise.resolve(
          toPage(scope, { head: { ...head, version }, keys: '', tenants: '', nextCursor: null }),
        )
      : makePage(deps, sharedDb(deps, call.db), scope, { ...head, version }, after, limit, isWhole),
  )
  if (body === null) {
    throw new Refusal(
      'snapshot_too_large',
      `The project has more than ${limit} keys, or more than ${Math.floor(wholeBytesMax(limit) / 1_048_576)} MiB of them. Fetch them in pages with max_keys and cursor, or select tenants with tenant_id.`,
    )
  }
  return await sendPage(deps, call, scope, body, headers)
}

/** Builds a page for all who ask: the time of one caller must not end it for the others. */
export const sharedDb = ({ budgets }: PolicyNeeds, db: Db): Db => db.by(new Deadline(budgets.requestMs))

/** Every page states the version at which the walk began. The next delta has what changed since. */
async function makePage(
  deps: PolicyNeeds,
  db: Db,
  scope: FeedScope,
  head: HeadOfBody,
  after: string,
  limit: number,
  isWhole: boolean,
): Promise<FeedPage> {
  const most = { keys: limit, bytes: isWhole ? wholeBytesMax(limit) : pageBytesMax }
  const { more, last, json, tenants } = await db.inWorkspace(scope.workspaceId, tx =>
    readSnapshotPage(tx, deps.policy.statements, scope, after, most),
  )
  // Keys that expire make space without a change of the version.
  if (more && isWhole) return { body: null, bytes: 0, isLasting: false }
  const nextCursor =
    more && last !== null
      ? deps.cursors.seal(cursorList(scope), scope.workspaceId, `${head.version} ${last}`)
      : null
  return toPage(scope, {
    head,
    keys: json ?? '',
    tenants: tenants ?? '',
    nextCursor,
  })
}

/** A cursor is valid only for the scope that it was issued for. */
const cursorList = (scope: FeedScope) => `policy ${scopeName(scope)}`

function openCursor({ cursors }: PolicyNeeds, scope: FeedScope, cursor: string): Position {
  const [version, after] = cursors.open(cursorList(scope), scope.workspaceId, cursor).split(' ')
  if (after === undefined) throw invalidField('cursor', 'is not a cursor of this list')
  return { version: Number(version), after }
}

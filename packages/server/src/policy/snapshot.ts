import type { SnapshotQuery } from '@keyrail/contract/feed'
import type { Deps } from '../deps.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import type { Answer, Call } from '../gate/route.ts'
import { matches, SharedBody } from '../platform/http/shared-body.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import type { FeedPage } from './pages.ts'
import { etagOf, type FeedScope, scopeName, scopeOf } from './scope.ts'
import { type PolicyHead, readSnapshotPage } from './sql.ts'

/** Where a walk is: the version at which it began, and the id that its last page ended with. */
interface Position {
  version: number
  after: string
}

/**
 * Bytes of a page: twice what 5,000 keys of the usual 350 bytes have, but one with 64 scopes of 200 characters has 50 KiB.
 * A page ends before, and its cursor goes on.
 */
export const pageBytesMax = 4 * 1_048_576
/** Bytes of a snapshot that is sent whole: 2 KiB a key that it may have, within what there is room for. */
const wholeBytesMax = (keys: number) => Math.max(pageBytesMax, Math.min(2_048 * keys, 48 * 1_048_576))

const start = '00000000-0000-0000-0000-000000000000'

export async function answerSnapshot(
  deps: Deps,
  call: Call<VendorPrincipal, SnapshotQuery, unknown>,
): Promise<Answer> {
  const { query } = call
  const scope = scopeOf(deps.policy.statements.features, call.principal, query)
  const at = query.cursor === undefined ? null : openCursor(deps, scope, query.cursor)
  const head = await deps.policy.heads.run(scope)
  if (head === null) throw new Refusal('not_found')
  if (query.node !== undefined && at === null && !head.deleted) {
    // In the middle of its first walk it may hold what is being revoked: it counts as live from here on.
    await deps.policy.nodes.note({
      ...scope,
      sees: scope.env ?? 'both',
      node: query.node,
      version: 0,
      floor: head.floor,
    })
  }
  return await sendSnapshot(deps, call, scope, head, at)
}

/** A page of a walk, its first when `at` is null. Also what a delta is answered with that cannot be told. */
export async function sendSnapshot(
  deps: Deps,
  call: Pick<Call<VendorPrincipal, { max_keys?: number }, unknown>, 'header' | 'query'>,
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
  const { body } = await policy.pages.share(name, () =>
    head.deleted
      ? Promise.resolve(
          toPage(deps, scope, { version, deleted: true, keys: '', tenants: '', nextCursor: null }),
        )
      : makePage(deps, scope, { version, after }, limit, isWhole),
  )
  if (body === null) {
    throw new Refusal(
      'snapshot_too_large',
      `The project has more than ${limit} keys, or ${Math.floor(wholeBytesMax(limit) / 1_048_576)} MiB of them. Page through them with max_keys and cursor, or narrow to some tenants with tenant_id.`,
    )
  }
  const { body: bytes, encoding } = await body.encoded(call.header('accept-encoding'))
  return {
    body: bytes,
    headers: { ...headers, ...(encoding !== 'identity' && { 'content-encoding': encoding }) },
  }
}

/** Every page states the version at which the walk began, whatever has changed since: the next delta brings that. */
async function makePage(
  deps: Deps,
  scope: FeedScope,
  { version, after }: Position,
  limit: number,
  isWhole: boolean,
): Promise<FeedPage> {
  const most = { keys: limit, bytes: isWhole ? wholeBytesMax(limit) : pageBytesMax }
  const { more, last, json, tenants } = await deps.db.inWorkspace(scope.workspaceId, tx =>
    readSnapshotPage(tx, deps.policy.statements, scope, after, most),
  )
  // Keys that expire make room without a change.
  if (more && isWhole) return { body: null, bytes: 0, isLasting: false }
  const nextCursor =
    more && last !== null
      ? deps.cursors.seal(cursorList(scope), scope.workspaceId, `${version} ${last}`)
      : null
  return toPage(deps, scope, {
    version,
    deleted: false,
    keys: json ?? '',
    tenants: tenants ?? '',
    nextCursor,
  })
}

interface Content {
  version: number
  deleted: boolean
  /** JSON, without the brackets. */
  keys: string
  tenants: string
  nextCursor: string | null
}

function toPage(
  deps: Deps,
  scope: FeedScope,
  { version, deleted, keys, tenants, nextCursor }: Content,
): FeedPage {
  const head = JSON.stringify({
    object: 'policy_snapshot',
    ...headOf(deps, scope, version, deleted),
    next_cursor: nextCursor,
  })
  const body = new SharedBody(`${head.slice(0, -1)}${tenantsOf(scope, tenants)},"keys":[${keys}]}`)
  return { body, bytes: body.bytes, isLasting: true }
}

/** The list of tenants as a member, for those who asked for what it tells. Before the keys, which refer to it. */
export const tenantsOf = ({ tellsTenants }: FeedScope, tenants: string) =>
  tellsTenants ? `,"tenants":[${tenants}]` : ''

/** What every body of the feed begins with. */
export const headOf = ({ clock }: Deps, scope: FeedScope, version: number, deleted: boolean) => ({
  workspace_id: scope.workspaceId,
  project_id: scope.projectId,
  env: scope.env,
  version,
  project_deleted: deleted,
  generated_at: iso(new Date(clock.now())),
  ...(scope.features !== null && { features: scope.features }),
})

/** A cursor is good for the scope that it was given out for, and no other. */
const cursorList = (scope: FeedScope) => `policy ${scopeName(scope)}`

function openCursor({ cursors }: Deps, scope: FeedScope, cursor: string): Position {
  const [version, after] = cursors.open(cursorList(scope), scope.workspaceId, cursor).split(' ')
  if (after === undefined) throw invalidField('cursor', 'is not a cursor of this list')
  return { version: Number(version), after }
}

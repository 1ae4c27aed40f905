import type { DeltaQuery } from '@keyrail/contract/feed'
import type { Deps } from '../deps.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import type { Answer, Call } from '../gate/route.ts'
import { deadlineMs } from '../platform/db/deadline.ts'
import { matches, SharedBody } from '../platform/http/shared-body.ts'
import { Refusal } from '../platform/refusal.ts'
import type { FeedPage } from './pages.ts'
import { preferredWait } from './prefer.ts'
import { etagOf, type FeedScope, scopeName, scopeOf } from './scope.ts'
import { headOf, pageBytesMax, sendSnapshot, tenantsOf } from './snapshot.ts'
import { type PolicyHead, readChangesSince } from './sql.ts'

type DeltaCall = Call<VendorPrincipal, DeltaQuery, unknown>

/**
 * What changed since the version that a node holds, which it acknowledges by asking; a snapshot when that cannot
 * be told. With `Prefer: wait=N` an answer of nothing is held until there is something, while there is a place for it.
 */
export async function answerDelta(deps: Deps, call: DeltaCall): Promise<Answer> {
  const { since, node } = call.query
  const { policy } = deps
  const scope = scopeOf(policy.statements.features, call.principal, call.query)
  let head = await policy.heads.run(scope)
  if (head === null) throw new Refusal('not_found')
  const noted =
    node !== undefined && since <= head.version
      ? policy.nodes.note({ ...scope, sees: scope.env ?? 'both', node, version: since, floor: head.floor })
      : null

  const wait = preferredWait(call.header('prefer'))
  let applied: Record<string, string> = wait === null ? {} : { 'preference-applied': `wait=${wait}` }
  let own = deps
  if (wait !== null && since === head.version) {
    // Before it is held: whoever waits for a revocation waits for this.
    await noted
    const gone = AbortSignal.any([call.hangUp(), deps.closing])
    const change = policy.watch.change(scope, since, wait * 1_000, gone)
    // There is no place to wait in: answered at once, and a node that is told so polls at its own pace.
    if (change === null) applied = {}
    else {
      head = (await change) ?? head
      // It was held for up to 30 s, in which its credential may have ended.
      await call.judgeAgain()
    }
    // The time that a request may take of the store began to run before it was held.
    own = { ...deps, db: deps.db.until(performance.now() + deadlineMs) }
  }
  const [answer] = await Promise.all([tellChanges(own, call, scope, head), noted])
  return { ...answer, headers: { ...answer.headers, ...applied } }
}

async function tellChanges(deps: Deps, call: DeltaCall, scope: FeedScope, head: PolicyHead): Promise<Answer> {
  const { since } = call.query
  if (since > head.version) return await sendSnapshot(deps, call, scope, head)
  if (since === head.version || head.deleted) return tellNoChange(deps, call, scope, head)
  if (since < head.floor) return await sendSnapshot(deps, call, scope, head)

  const { body } = await deps.policy.pages.share(`delta ${scopeName(scope)} ${since} ${head.version}`, () =>
    makeDelta(deps, scope, since),
  )
  if (body === null) return await sendSnapshot(deps, call, scope, head)
  const { body: bytes, encoding } = await body.encoded(call.header('accept-encoding'))
  return {
    body: bytes,
    headers: {
      ...headersOf(etagOf(scope, head.version)),
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    },
  }
}

/** Nothing to tell: the node is current, or the project is gone and with it every key. */
function tellNoChange(deps: Deps, call: DeltaCall, scope: FeedScope, head: PolicyHead): Answer {
  const etag = etagOf(scope, head.version)
  const headers = headersOf(etag)
  const isCurrent = call.query.since === head.version
  if (isCurrent && matches(call.header('if-none-match'), etag)) return { body: null, status: 304, headers }
  const body = {
    ...headOfDelta(deps, scope, call.query.since, head.version, head.deleted),
    ...(scope.tellsTenants && { tenants: [] }),
    changes: [],
  }
  return { body, headers }
}

/** At most as many changes, and as many bytes, as a page has; beyond them a snapshot is cheaper. */
async function makeDelta(deps: Deps, scope: FeedScope, since: number): Promise<FeedPage> {
  const most = { keys: deps.config.policyMaxPageKeys, bytes: pageBytesMax }
  const row = await deps.db.inWorkspace(scope.workspaceId, tx =>
    readChangesSince(tx, deps.policy.statements, scope, since, most),
  )
  if (row === null) throw new Refusal('not_found')
  if (row.logged > most.keys || row.is_large || since < row.floor)
    return { body: null, bytes: 0, isLasting: true }
  const head = JSON.stringify(headOfDelta(deps, scope, since, row.version, row.deleted)).slice(0, -1)
  const body = new SharedBody(`${head}${tenantsOf(scope, row.tenants ?? '')},"changes":[${row.json ?? ''}]}`)
  return { body, bytes: body.bytes, isLasting: true }
}

const headOfDelta = (deps: Deps, scope: FeedScope, since: number, version: number, deleted: boolean) => ({
  object: 'policy_delta',
  ...headOf(deps, scope, version, deleted),
  since,
})

const headersOf = (etag: string) => ({ etag, vary: 'accept-encoding', 'cache-control': 'private, no-cache' })

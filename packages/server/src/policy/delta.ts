import type { DeltaQuery } from '@keyrail/contract/feed'
import type { VendorPrincipal } from '../gate/principal.ts'
import type { PolicyHead } from '../gate/read-head.ts'
import type { Answer, Call } from '../gate/route.ts'
import type { Db } from '../platform/db/db.ts'
import { OpenBody } from '../platform/http/body/open-body.ts'
import { matches } from '../platform/http/body/shared-body.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { heldFeature } from './features.ts'
import type { PolicyNeeds } from './needs.ts'
import { heldBy } from './nodes.ts'
import { type HeadOfBody, headOf, sendPage, tenantsOf } from './page-body.ts'
import type { FeedPage } from './pages.ts'
import { headReadWith } from './polls.ts'
import { etagOf, type FeedScope, scopeName, scopeOf } from './scope.ts'
import { pageBytesMax, sendSnapshot, sharedDb } from './snapshot.ts'
import { readChangesSince } from './sql.ts'

/** Seconds; a longer value is cut to this. */
const mostWait = 30

/** The `wait` of a `Prefer` header, in whole seconds (RFC 7240 §4.3); null when it is missing or invalid. */
export function preferredWait(prefer: string | undefined): number | null {
  for (const preference of (prefer ?? '').split(',')) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/i.exec(preference) ?? []
    // The first of several values counts. §2.
    if (seconds !== undefined) return Math.min(Number(seconds), mostWait)
  }
  return null
}

type DeltaCall = Call<VendorPrincipal, DeltaQuery, unknown>

/**
 * Returns what changed since the version of a node, which the request acknowledges, or a snapshot when the changes are
 * not known. With `Prefer: wait=N` an empty answer is held until there is a change, if there is space to hold it.
 */
export async function answerDelta(deps: PolicyNeeds, call: DeltaCall): Promise<Answer> {
  const { since, node } = call.query
  const { policy, clock } = deps
  const askedAt = clock.monotonic()
  const scope = scopeOf(policy.statements.features, call.principal, call.query)
  let head = headReadWith(call.principal, scope.projectId)
  if (head === undefined) head = await policy.heads.run(scope, call.deadline)
  if (head === null) throw new Refusal('not_found')
  if (call.query.leaving === 'true') return await answerLeaving(deps, call, scope, head)
  const noted =
    node !== undefined && since <= head.version
      ? policy.nodes.note({
          ...scope,
          ...heldBy(call.query),
          sees: scope.env ?? 'both',
          node,
          version: since,
          floor: head.floor,
        })
      : null

  const wait = preferredWait(call.header('prefer'))
  let heldMs: number | null = null
  let applied: Record<string, string> = wait === null ? {} : { 'preference-applied': `wait=${wait}` }
  if (wait !== null && since === head.version) {
    // Recorded before the poll is held, because a revocation may be waiting for this acknowledgement.
    await noted
    const gone = AbortSignal.any([call.hangUp(), deps.closing])
    const who = { ...scope, reach: call.principal.reach }
    const change = policy.watch.change(who, since, wait * 1_000, gone)
    // No further poll can be held. The response omits Preference-Applied, so the node polls at its own pace.
    if (change === null) applied = {}
    else {
      call.hold()
      const ended = await change
      head = ended.head ?? head
      if (call.query.features?.includes(heldFeature))
        heldMs = Math.max(0, Math.floor(ended.lookedAt - askedAt))
      // The poll was held for up to 30 s, in which its credential may have ended.
      await call.judgeAgain()
    }
  }
  const [answer] = await Promise.all([sendChanges(deps, call, scope, head, heldMs), noted])
  return { ...answer, headers: { ...answer.headers, ...applied } }
}

/** The node reads no more: the answer says that nothing has changed since the current version. */
async function answerLeaving(
  deps: PolicyNeeds,
  call: DeltaCall,
  scope: FeedScope,
  head: PolicyHead,
): Promise<Answer> {
  const { node } = call.query
  if (node !== undefined) await deps.policy.nodes.leave({ ...scope, sees: scope.env ?? 'both', node })
  return sendNoChange(deps, call, scope, head, { since: head.version, heldMs: null })
}

async function sendChanges(
  deps: PolicyNeeds,
  call: DeltaCall,
  scope: FeedScope,
  head: PolicyHead,
  heldMs: number | null,
): Promise<Answer> {
  const { since } = call.query
  if (since > head.version) return await sendSnapshot(deps, call, scope, head)
  if (since === head.version || head.deleted) return sendNoChange(deps, call, scope, head, { since, heldMs })
  if (since < head.floor) return await sendSnapshot(deps, call, scope, head)

  const name = `delta ${scopeName(scope)} ${since} ${head.version}`
  const { body } = await deps.policy.pages.share(name, call.deadline, () =>
    makeDelta(deps, sharedDb(deps, call.db), scope, since),
  )
  if (body === null) return await sendSnapshot(deps, call, scope, head)
  return await sendPage(deps, call, scope, body, headersOf(etagOf(scope, head.version)), heldMs)
}

/** An empty answer: the node is current, or the project is deleted with all of its keys. */
function sendNoChange(
  deps: PolicyNeeds,
  call: DeltaCall,
  scope: FeedScope,
  head: PolicyHead,
  { since, heldMs }: { since: number; heldMs: number | null },
): Answer {
  const etag = etagOf(scope, head.version)
  const headers = headersOf(etag)
  const isCurrent = since === head.version
  if (isCurrent && matches(call.header('if-none-match'), etag)) return { body: null, status: 304, headers }
  const body = {
    ...headOfDelta(scope, since, head),
    ...(scope.hasTenants && { tenants: [] }),
    changes: [],
    ...(heldMs !== null && { held_ms: heldMs }),
    ...(scope.takesRefusals && { takes_refusals: true }),
    generated_at: iso(new Date(deps.clock.now())),
  }
  return { body, headers }
}

/** At most as many changes and bytes as a page has; beyond that a snapshot is cheaper. */
async function makeDelta(deps: PolicyNeeds, db: Db, scope: FeedScope, since: number): Promise<FeedPage> {
  const most = { keys: deps.config.policyMaxPageKeys, bytes: pageBytesMax }
  const row = await db.inWorkspace(scope.workspaceId, tx =>
    readChangesSince(tx, deps.policy.statements, scope, since, most),
  )
  if (row === null) throw new Refusal('not_found')
  if (row.logged > most.keys || row.is_large || since < row.floor)
    return { body: null, bytes: 0, isLasting: true }
  const head = JSON.stringify(headOfDelta(scope, since, row)).slice(0, -1)
  const body = new OpenBody(`${head}${tenantsOf(scope, row.tenants ?? '')},"changes":[${row.json ?? ''}]`)
  return { body, bytes: body.bytes, isLasting: true }
}

const headOfDelta = (scope: FeedScope, since: number, head: HeadOfBody) => ({
  object: 'policy_delta',
  ...headOf(scope, head),
  since,
})

const headersOf = (etag: string) => ({ etag, vary: 'accept-encoding', 'cache-control': 'private, no-cache' })

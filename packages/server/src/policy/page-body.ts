import type { VendorPrincipal } from '../gate/principal.ts'
import type { PolicyHead } from '../gate/read-head.ts'
import type { Answer, Call } from '../gate/route.ts'
import { OpenBody } from '../platform/http/body/open-body.ts'
import { iso } from '../platform/time.ts'
import { importedFeature } from './features.ts'
import type { PolicyNeeds } from './needs.ts'
import type { FeedPage } from './pages.ts'
import type { FeedScope } from './scope.ts'

/** The JSON of the feed: members that all bodies share, the page of a snapshot, and the end that each answer adds. */

interface Content {
  head: HeadOfBody
  /** JSON without the brackets. */
  keys: string
  tenants: string
  nextCursor: string | null
}

/** A page of a snapshot, for all who ask for it. */
export function toPage(scope: FeedScope, { head: of, keys, tenants, nextCursor }: Content): FeedPage {
  const head = JSON.stringify({
    object: 'policy_snapshot',
    ...headOf(scope, of),
    next_cursor: nextCursor,
  })
  const body = new OpenBody(`${head.slice(0, -1)}${tenantsOf(scope, tenants)},"keys":[${keys}]`)
  return { body, bytes: body.bytes, isLasting: true }
}

/** The list of tenants as a member, if a feature asks for it. It precedes the keys, which refer to it. */
export const tenantsOf = ({ hasTenants }: FeedScope, tenants: string) =>
  hasTenants ? `,"tenants":[${tenants}]` : ''

/** What a body says of its project: the version that it has, and what the head of that version says. */
export type HeadOfBody = Omit<PolicyHead, 'floor'>

/**
 * The first members of every body of the feed. Its last one is `generated_at`, the time of the answer. A project accepts imported
 * keys from one version on, so a body that is kept for a version says what holds at that version.
 */
export const headOf = (scope: FeedScope, { version, deleted, imports }: HeadOfBody) => ({
  workspace_id: scope.workspaceId,
  project_id: scope.projectId,
  env: scope.env,
  version,
  project_deleted: deleted,
  ...(scope.features !== null && { features: scope.features }),
  ...(imports && scope.features?.includes(importedFeature) && { accepts_imported: true }),
})

/**
 * Sends a shared body with the time of this answer.
 * @param heldMs for how long the answer was held before the last look at the head; null: it says nothing of that.
 */
export async function sendPage(
  { clock, policy }: PolicyNeeds,
  call: Pick<Call<VendorPrincipal, unknown, unknown>, 'header'>,
  scope: FeedScope,
  page: OpenBody,
  headers: Record<string, string>,
  heldMs: number | null = null,
): Promise<Answer> {
  const held = heldMs === null ? '' : `,"held_ms":${heldMs}`
  const takes = scope.takesRefusals ? ',"takes_refusals":true' : ''
  const end = `${held}${takes},"generated_at":${JSON.stringify(iso(new Date(clock.now())))}}`
  const { body, encoding } = await page.encoded(call.header('accept-encoding'), end)
  await policy.sendTurns(scope.workspaceId, body.bytes)
  return {
    body,
    headers: { ...headers, ...(encoding !== 'identity' && { 'content-encoding': encoding }) },
  }
}

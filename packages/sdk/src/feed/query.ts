import type { Held } from './quota.ts'
import type { Scope } from './record.ts'

/** Sent with every request: this node supports paging. The largest page that the service sends. */
const PAGE_KEYS = 5_000

/** With it, a held answer says for how long it was held. */
const HELD = 'held_ms'

/** With it, an answer says whether the service takes reports of refusals. */
const REFUSALS = 'refusals'

interface Asking {
  scope: Scope
  node: string
  /** Whether the node counts refusals. */
  countsRefusals?: boolean | undefined
}

/** The query parameters of both feed routes, and `more`. The service learns how full the node is. */
export function feedQuery(
  { scope, node, countsRefusals }: Asking,
  held: Held,
  more: { since?: string; cursor?: string; leaving?: 'true' },
): URLSearchParams {
  const apart = [...(more.since === undefined ? [] : [HELD]), ...(countsRefusals ? [REFUSALS] : [])]
  const features = [...(scope.features ?? []), ...apart]
  return new URLSearchParams({
    project_id: scope.projectId,
    ...(scope.env !== 'both' && { env: scope.env }),
    ...(scope.tenantIds.length > 0 && { tenant_id: scope.tenantIds.join(',') }),
    node,
    ...(features.length > 0 && { features: features.join() }),
    max_keys: String(PAGE_KEYS),
    held_keys: String(held.keys),
    held_keys_max: String(held.most),
    ...more,
  })
}

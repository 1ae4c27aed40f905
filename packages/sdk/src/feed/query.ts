import type { Scope } from './record.ts'
import type { Held } from './room.ts'

/** Sent with every request: this node supports paging. The largest page that the service sends. */
const PAGE_KEYS = 5_000

/** With it, a held answer says for how long it was held. */
const HELD = 'held_ms'

interface Asking {
  scope: Scope
  node: string
}

/** The query parameters of both feed routes, and `more`. The service learns how full the node is. */
export function feedQuery(
  { scope, node }: Asking,
  held: Held,
  more: { since?: string; cursor?: string },
): URLSearchParams {
  const features = [...(scope.features ?? []), ...(more.since === undefined ? [] : [HELD])]
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

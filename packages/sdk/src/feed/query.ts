import { hasFeatures, type Scope } from './record.ts'

/** Sent with every request: this node supports paging. The largest page that the service sends. */
const PAGE_KEYS = 5_000

/** The query parameters of both feed routes, and `more`. */
export const feedQuery = (
  { scope, node }: { scope: Scope; node: string },
  more: Record<string, string>,
): URLSearchParams =>
  new URLSearchParams({
    project_id: scope.projectId,
    ...(scope.env !== 'both' && { env: scope.env }),
    ...(scope.tenantIds.length > 0 && { tenant_id: scope.tenantIds.join(',') }),
    node,
    ...(hasFeatures(scope) && { features: scope.features?.join() ?? '' }),
    max_keys: String(PAGE_KEYS),
    ...more,
  })

import { hasFeatures, type Scope } from './record.ts'

/** Asked for with every request: it says that this node can page, and it is as much as the service sends at once. */
const PAGE_KEYS = 5_000

/** What both routes of the feed are asked, and `more`. */
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

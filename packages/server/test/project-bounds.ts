import { among, type Bound, bound, length, pattern, rateLimits, repeated, strings } from './column-bounds.ts'

/** Of a project or a workspace. */
export const slug = '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$'

/** What the constraints of projects accept. */
export const projectBounds: Record<string, Bound> = {
  projects_default_rate_limits_bounds: rateLimits('default_rate_limits', false),
  projects_key_prefix_bounds: pattern('key_prefix', '^[a-z][a-z0-9]{1,15}$'),
  projects_known_scopes_bounds: bound(
    'known_scopes',
    ['null', strings(200), strings(1, repeated(200))],
    [`'{}'`, strings(201), `'{""}'`, strings(1, repeated(201))],
  ),
  projects_lifetime: among('lifetime', ['report', 'refuse']),
  projects_max_key_lifetime_days_bounds: bound('max_key_lifetime_days', ['null', '1', '3650'], ['0', '3651']),
  projects_name_bounds: length('name', 1, 200, false),
  projects_slug_bounds: pattern('slug', slug),
}

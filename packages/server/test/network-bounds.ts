import { type Bound, bound, strings } from './column-bounds.ts'

const ok = [`'{}'`, strings(32, `'::/0'`), strings(1, `repeat('a', 43)`)]
const bad = [strings(33, `'::/0'`), `'{::/}'`, strings(1, `repeat('a', 44)`)]

/** The check constraints on the networks of keys and tenants. */
export const networkBounds: Record<string, Bound> = {
  api_keys_allowed_cidrs_bounds: bound('allowed_cidrs', ['null', ...ok], bad),
  tenants_allowed_cidrs_bounds: bound('allowed_cidrs', ok, bad),
}

/** One rule of a key's limits. */
export interface RateLimit {
  id: string
  limit: number
  /** Length of the window in milliseconds. */
  window_ms: number
  algorithm: 'sliding' | 'fixed'
  /** Whether it counts per key, or for all keys of the tenant together. */
  scope: 'key' | 'tenant'
}

/**
 * The effective limits of a key as the feed tells them: undefined where there are none, null where they are not
 * well formed. Only the members that are known are kept.
 */
export function readRateLimits(value: unknown): RateLimit[] | undefined | null {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || !value.every(isRule)) return null
  if (value.length === 0) return undefined
  return value.map(({ id, limit, window_ms, algorithm, scope }) => ({
    id,
    limit,
    window_ms,
    algorithm,
    scope,
  }))
}

function isRule(value: unknown): value is RateLimit {
  if (typeof value !== 'object' || value === null) return false
  const { id, limit, window_ms, algorithm, scope } = value as Partial<Record<keyof RateLimit, unknown>>
  return (
    typeof id === 'string' &&
    isPositive(limit) &&
    isPositive(window_ms) &&
    (algorithm === 'sliding' || algorithm === 'fixed') &&
    (scope === 'key' || scope === 'tenant')
  )
}

const isPositive = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0

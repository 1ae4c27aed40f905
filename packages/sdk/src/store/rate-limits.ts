/**
 * One rule of a key's limits, as the service told it. One of an algorithm that is not among these is passed on like the
 * others, for the service to judge; it may lack members, or have more.
 */
export interface RateLimit {
  id: string
  limit: number
  /** Length of the window in milliseconds. */
  window_ms: number
  algorithm: 'sliding' | 'fixed' | (string & {})
  /** Whether it counts per key, or for all keys of the tenant together. */
  scope: 'key' | 'tenant' | (string & {})
}

/** A rule has few members, and they are flat. What is deeper than this is none, whatever the service may learn. */
const DEPTH_MAX = 4

/**
 * The effective limits of a key as the feed tells them: undefined where there are none, null where they are no rules.
 * A node evaluates none of them, so it need not understand them.
 */
export function readRateLimits(value: unknown): RateLimit[] | undefined | null {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || !value.every(isRule)) return null
  return value.length === 0 ? undefined : value
}

const isRule = (value: unknown): value is RateLimit =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && isShallow(value, DEPTH_MAX)

/** Whether no member lies deeper than so many levels: what walks through a value would not come back. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  for (const part of Object.values(value)) if (!isShallow(part, levels - 1)) return false
  return true
}

/**
 * One limit of a key, as the service sent it. A limit with another algorithm or scope is passed on for the service to judge;
 * it may lack fields or have others.
 */
export interface RateLimit {
  id: string
  limit: number
  /** Length of the window in milliseconds. */
  windowMs: number
  algorithm: 'sliding' | 'fixed' | (string & {})
  /** Counts per key, or for all keys of the tenant together. */
  scope: 'key' | 'tenant' | (string & {})
}

/** Limits are flat. A value deeper than this is not a limit, also not of a newer service. */
const DEPTH_MAX = 4

/** A limit with the service's field names. */
export type WireRateLimit = Readonly<Record<string, unknown>>

/**
 * The effective limits of a key in the feed: undefined if it has none, null if they are invalid. Nodes do not evaluate
 * limits, so they need not understand them.
 */
export function readRateLimits(value: unknown): RateLimit[] | undefined | null {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || !value.every(isRule)) return null
  return value.length === 0
    ? undefined
    : value.map(rule => renamed(rule, 'window_ms', 'windowMs') as unknown as RateLimit)
}

/** Turns the limits of a verdict back into those of the service. Leaves an invalid limit unchanged, for the service to reject. */
export const toWireRateLimits = (rules: readonly unknown[]): WireRateLimit[] =>
  rules.map(rule => (isRule(rule) ? renamed(rule, 'windowMs', 'window_ms') : (rule as WireRateLimit)))

/** Keeps all other fields in their order, including those that this version does not know. */
const renamed = (rule: WireRateLimit, from: string, to: string): WireRateLimit =>
  Object.hasOwn(rule, to)
    ? rule
    : Object.fromEntries(Object.entries(rule).map(([name, value]) => [name === from ? to : name, value]))

const isRule = (value: unknown): value is WireRateLimit =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && isShallow(value, DEPTH_MAX)

/** Whether a value has at most this many levels. Recursive functions can walk such a value safely. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  for (const part of Object.values(value)) if (!isShallow(part, levels - 1)) return false
  return true
}

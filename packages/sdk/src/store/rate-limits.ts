/**
 * One rule of a key's limits, as the service told it. One of an algorithm that is not among these is passed on like the
 * others, for the service to judge; it may lack members, or have more.
 */
export interface RateLimit {
  id: string
  limit: number
  /** Length of the window in milliseconds. */
  windowMs: number
  algorithm: 'sliding' | 'fixed' | (string & {})
  /** Whether it counts per key, or for all keys of the tenant together. */
  scope: 'key' | 'tenant' | (string & {})
}

/** A rule has few members, and they are flat. What is deeper than this is none, whatever the service may learn. */
const DEPTH_MAX = 4

/** A rule as the service tells it, and is told it. */
export type WireRateLimit = Readonly<Record<string, unknown>>

/**
 * The effective limits of a key as the feed tells them: undefined where there are none, null where they are no rules.
 * A node evaluates none of them, so it need not understand them.
 */
export function readRateLimits(value: unknown): RateLimit[] | undefined | null {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || !value.every(isRule)) return null
  return value.length === 0
    ? undefined
    : value.map(rule => renamed(rule, 'window_ms', 'windowMs') as unknown as RateLimit)
}

/** The same as the service tells them. What is no rule stays what it is, for the service to refuse. */
export const toWireRateLimits = (rules: readonly unknown[]): WireRateLimit[] =>
  rules.map(rule => (isRule(rule) ? renamed(rule, 'windowMs', 'window_ms') : (rule as WireRateLimit)))

/** All other members go as they came, in their order, so that nothing is lost which this version does not know. */
const renamed = (rule: WireRateLimit, from: string, to: string): WireRateLimit =>
  Object.hasOwn(rule, to)
    ? rule
    : Object.fromEntries(Object.entries(rule).map(([name, value]) => [name === from ? to : name, value]))

const isRule = (value: unknown): value is WireRateLimit =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && isShallow(value, DEPTH_MAX)

/** Whether no member lies deeper than so many levels: what walks through a value would not come back. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  for (const part of Object.values(value)) if (!isShallow(part, levels - 1)) return false
  return true
}

import { type KeyrailError, passing } from '../runtime/errors.ts'
import type { RateLimit } from '../store/rate-limits.ts'

/** What is left of one limit of a key. */
export interface LimitState {
  id: string
  /** Units that are left, as far as this server knows. */
  remaining: number
  /** Time until the window ends, in ms. */
  resetMs: number
}

/** The service's answer to a check. */
export interface CheckAnswer {
  allowed: boolean
  /** Ids of the limits that the request does not fit. */
  deniedBy: readonly string[]
  /** Time until the request would fit, if nothing else is spent; null: never; undefined: the answer does not say. */
  retryAfterMs: number | null | undefined
  headers: Readonly<Record<string, string>>
  /** In the order of the rules; absent from a service that does not send them. */
  limits?: readonly LimitState[] | undefined
  /** How many nodes check limits in the key's environment, at least; undefined if the service does not say. */
  nodes?: number | undefined
}

const headerNames = ['RateLimit-Policy', 'RateLimit', 'Retry-After'] as const

/** @throws KeyrailError `bad_response` */
export function readAnswer(
  answer: Readonly<Record<string, unknown>>,
  rules: readonly RateLimit[],
): CheckAnswer {
  const { object, allowed, denied_by, retry_after_ms, headers: given, limits, nodes } = answer
  if (object !== 'ratelimit_check') throw badAnswer('object')
  const headers: Record<string, string> = {}
  for (const name of headerNames) {
    const value = (given as Record<string, unknown> | undefined)?.[name]
    if (value === undefined && name === 'Retry-After') continue
    if (typeof value !== 'string' || !/^[\x20-\x7e]+$/.test(value)) throw badAnswer(`headers.${name}`)
    headers[name.toLowerCase()] = value
  }
  if (typeof allowed !== 'boolean') throw badAnswer('allowed')
  const known = {
    headers,
    limits: readStates(limits, rules),
    ...(isAmount(nodes) && nodes > 0 && { nodes }),
  }
  if (allowed) return { allowed, deniedBy: [], retryAfterMs: null, ...known }
  if (!Array.isArray(denied_by) || !denied_by.every(id => typeof id === 'string'))
    throw badAnswer('denied_by')
  const isKnown = retry_after_ms === null || (typeof retry_after_ms === 'number' && retry_after_ms > 0)
  return { allowed, deniedBy: denied_by, retryAfterMs: isKnown ? retry_after_ms : undefined, ...known }
}

/** Undefined unless there is one for each rule. */
function readStates(value: unknown, rules: readonly RateLimit[]): LimitState[] | undefined {
  if (!Array.isArray(value) || value.length !== rules.length) return undefined
  const states: LimitState[] = []
  for (const [at, limit] of value.entries()) {
    const { id, remaining, reset_ms: resetMs } = (limit ?? {}) as Record<string, unknown>
    if (id !== rules[at]?.id || !isAmount(remaining) || !isAmount(resetMs)) return undefined
    states.push({ id: id as string, remaining, resetMs })
  }
  return states
}

const isAmount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

export const badAnswer = (what: string): KeyrailError =>
  passing('bad_response', `The answer is not a rate-limit check: ${what}`)

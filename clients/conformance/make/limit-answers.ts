import type { Json } from '../case.ts'
import { hour } from './fixtures.ts'

/** What the service answers to a check of limits. */

export const headersOf = (rules: readonly Json[], left: number) => ({
  'RateLimit-Policy': rules.map(rule => `"${rule.id}";q=${rule.limit};w=60`).join(', '),
  RateLimit: rules.map(rule => `"${rule.id}";r=${left};t=60`).join(', '),
})
const statesOf = (rules: readonly Json[], remaining: number) =>
  rules.map(rule => ({ ...rule, allowed: remaining > 0, remaining, reset_ms: 60_000 }))

export const allows = (rules: readonly Json[] = [hour], more: Json = {}): Json => ({
  object: 'ratelimit_check',
  allowed: true,
  cost: 1,
  denied_by: [],
  retry_after_ms: null,
  limits: statesOf(rules, 4),
  headers: headersOf(rules, 4),
  ...more,
})
export const denies = (
  retry_after_ms: number | null,
  denied_by: readonly string[] = ['hour'],
  rules: readonly Json[] = [hour],
): Json => ({
  object: 'ratelimit_check',
  allowed: false,
  cost: 1,
  denied_by,
  retry_after_ms,
  limits: statesOf(rules, 0),
  headers: {
    ...headersOf(rules, 0),
    ...(retry_after_ms !== null && { 'Retry-After': String(Math.ceil(retry_after_ms / 1_000)) }),
  },
})

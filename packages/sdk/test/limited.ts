import type { RateLimit } from '../src/store/rate-limits.ts'
import type { Valid } from '../src/verify/verdict.ts'
import { id } from './keys.ts'

/** A limit whose window outlasts every test, and a key with it. */

export const hourly = (limit: number, more: Partial<RateLimit> = {}): RateLimit => ({
  id: 'hour',
  limit,
  windowMs: 31 * 86_400_000,
  algorithm: 'fixed',
  scope: 'key',
  ...more,
})

export const someKey: Valid = {
  valid: true,
  code: 'valid',
  keyId: id(1),
  tenantId: id(2),
  env: 'live',
  scopes: [],
  expiresAt: null,
  rateLimits: [hourly(1)],
}

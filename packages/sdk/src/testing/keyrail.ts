import { type Admin, createAdmin } from '../admin/create.ts'
import type { Embed } from '../embed/client.ts'
import { refuseUnknown } from '../http/connection-options.ts'
import type { IdempotencyOptions } from '../idempotency/idempotent.ts'
import type { Keyrail } from '../keyrail/keyrail.ts'
import type { LimiterOptions } from '../limits/limit.ts'
import type { UsageReporterOptions } from '../usage/reporter-options.ts'
import {
  createTestIdempotency,
  createTestLimiter,
  createTestUsage,
  type TestIdempotency,
  type TestLimiter,
  type TestOptions,
  type TestUsage,
} from './doubles.ts'
import { createTestKeyring, type TestKeyring } from './keyring.ts'
import type { TestKeyringOptions } from './keyring-options.ts'
import { openTestService, type TestService } from './service.ts'

/** Options of `createTestKeyrail`: those of each part. */
export interface TestKeyrailOptions {
  keys?: TestKeyringOptions | undefined
  limiter?: TestOptions<LimiterOptions> | undefined
  idempotency?: TestOptions<IdempotencyOptions> | undefined
  usage?: TestOptions<UsageReporterOptions> | undefined
  /** Your own answers. Without it every call of `admin` rejects with `not_in_tests`. */
  admin?: Partial<Admin> | undefined
}

/** A test double of a `Keyrail`; made by `createTestKeyrail`. */
export interface TestKeyrail extends Keyrail, TestService {
  readonly keys: TestKeyring
  readonly limiter: TestLimiter
  readonly idempotency: TestIdempotency
  readonly usage: TestUsage
  /** Makes a valid key: `keys.issue`. */
  issue: TestKeyring['issue']
}

const known = { keys: true, limiter: true, idempotency: true, usage: true, admin: true } as const

/**
 * All of `createKeyrail` for your own tests. It calls no service, and judges with the production code. `lose`, `recover` and
 * `advance` concern every part at once.
 */
export function createTestKeyrail(options: TestKeyrailOptions = {}): TestKeyrail {
  refuseUnknown('createTestKeyrail', options, known)
  const keys = createTestKeyring(options.keys)
  const limiter = createTestLimiter(options.limiter)
  const idempotency = createTestIdempotency(options.idempotency)
  const usage = createTestUsage(options.usage)
  const { connection } = openTestService(() => ({}))
  const all = [keys, limiter, idempotency, usage] as const
  const timed = [limiter, idempotency, usage] as const
  let closing: Promise<void> | undefined
  const close: Keyrail['close'] = within => {
    closing ??= usage
      .close(within)
      .finally(() => idempotency.close())
      .finally(() => keys.lose('not_ready'))
    return closing
  }
  return {
    keys,
    limiter,
    idempotency,
    usage,
    admin: { ...createAdmin({ ...connection, maxRetries: 0 }), ...options.admin },
    embed: { createToken: async request => tokenFor(request) },
    issue: keys.issue,
    ready: keys.ready,
    health() {
      const { serving: ok, confirmedAgeMs: lagMs, source, lastError, holdSeconds } = keys.stats()
      return { ok, lagMs, source, lastError: closing === undefined ? lastError : 'closed', holdSeconds }
    },
    advance(milliseconds) {
      for (const part of timed) part.advance(milliseconds)
    },
    lose() {
      for (const part of all) part.lose()
    },
    recover() {
      for (const part of all) part.recover()
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

const none = '00000000-0000-4000-8000-000000000000'

const tokenFor = ({
  tenantId,
  externalId = tenantId ?? none,
  env = 'live',
  scopes = ['keys:read'],
  origins = [],
}: Parameters<Embed['createToken']>[0]): Awaited<ReturnType<Embed['createToken']>> => ({
  object: 'embed_token',
  token: `test-token-of-${externalId}`,
  expiresAt: new Date(Date.now() + 300_000).toISOString(),
  projectId: none,
  tenantId: tenantId ?? none,
  env,
  scopes: [...scopes],
  origins: [...origins],
})

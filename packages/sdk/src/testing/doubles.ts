import type { UsageReport } from '../http/call-types.ts'
import type { ConnectionOptions } from '../http/connection-options.ts'
import { type Idempotency, type IdempotencyOptions, openIdempotency } from '../idempotency/idempotent.ts'
import { type Limiter, type LimiterOptions, openLimiter } from '../limits/limit.ts'
import { openUsageReporter, type UsageReporter } from '../usage/reporter.ts'
import type { UsageReporterOptions } from '../usage/reporter-options.ts'
import { answerChecks } from './checks.ts'
import { answerClaims } from './claims.ts'
import { openTestService, type TestService } from './service.ts'

/** The options of a production part, without the connection. */
export type TestOptions<Options> = Omit<Options, keyof ConnectionOptions>

/** A test double of a limiter; made by `createTestLimiter`. */
export interface TestLimiter extends Limiter, TestService {}
/** A test double of `Idempotency`; made by `createTestIdempotency`. */
export interface TestIdempotency extends Idempotency, TestService {}
/** A test double of a usage reporter; made by `createTestUsage`. */
export interface TestUsage extends UsageReporter, TestService {
  /** Sends what was counted, and returns all requests reported until now, by `keyId`. */
  reported(): Promise<Record<string, number>>
}

const project = '00000000-0000-4000-8000-000000000000'

/** The production limiter with an in-memory service. */
export function createTestLimiter(options: TestOptions<LimiterOptions> = {}): TestLimiter {
  const { connection, hands, now } = openTestService(answerChecks)
  return { ...openLimiter({ project, ...options, ...connection }, { now }), ...hands }
}

/** The production idempotency with an in-memory service. */
export function createTestIdempotency(options: TestOptions<IdempotencyOptions> = {}): TestIdempotency {
  const { connection, hands, timer } = openTestService(answerClaims)
  const world = { timer, random: Math.random }
  return { ...openIdempotency({ project, ...options, ...connection }, world), ...hands }
}

/** The production usage reporter with an in-memory service. */
export function createTestUsage(options: TestOptions<UsageReporterOptions> = {}): TestUsage {
  const counts: Record<string, number> = {}
  const answers = () => ({
    'usage/reports'({ records, sample_rate }: UsageReport) {
      for (const { key_id, count } of records) counts[key_id] = (counts[key_id] ?? 0) + count / sample_rate
      return {}
    },
  })
  const { connection, hands, timer, now } = openTestService(answers, 202)
  const usage = openUsageReporter({ ...options, ...connection }, { timer, now, random: Math.random })
  return {
    ...usage,
    ...hands,
    async reported() {
      await usage.flush()
      return { ...counts }
    },
  }
}

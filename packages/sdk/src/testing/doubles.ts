import type { UsageReport } from '../http/call-types.ts'
import type { ConnectionOptions } from '../http/connection-options.ts'
import { type Idempotency, type IdempotencyOptions, openIdempotency } from '../idempotency/idempotent.ts'
import { type Limiter, type LimiterOptions, openLimiter } from '../limits/limit.ts'
import { openUsageReporter, type UsageReporter, type UsageReporterOptions } from '../usage/reporter.ts'
import { answerChecks } from './checks.ts'
import { answerClaims } from './claims.ts'
import { openTestService, type TestService } from './service.ts'

/** What a maker of production takes, but for where the service is. */
export type TestOptions<Options> = Omit<Options, keyof ConnectionOptions>

/** Stands in for a limiter; made by `createTestLimiter`. */
export interface TestLimiter extends Limiter, TestService {}
/** Stands in for what `createIdempotency` makes; made by `createTestIdempotency`. */
export interface TestIdempotency extends Idempotency, TestService {}
/** Stands in for a usage reporter; made by `createTestUsage`. */
export interface TestUsage extends UsageReporter, TestService {
  /** Sends what was counted, and tells how many requests of each key were reported until now, by `keyId`. */
  reported(): Promise<Record<string, number>>
}

const projectId = '00000000-0000-4000-8000-000000000000'

/** The limiter of production, whose service is a stand-in in memory. */
export function createTestLimiter(options: TestOptions<LimiterOptions> = {}): TestLimiter {
  const { connection, hands, now } = openTestService(answerChecks)
  return { ...openLimiter({ projectId, ...options, ...connection }, { now }), ...hands }
}

/** The idempotency of production, whose service is a stand-in in memory. */
export function createTestIdempotency(options: TestOptions<IdempotencyOptions> = {}): TestIdempotency {
  const { connection, hands, timer } = openTestService(answerClaims)
  const world = { timer, random: Math.random }
  return { ...openIdempotency({ projectId, ...options, ...connection }, world), ...hands }
}

/** The usage reporter of production, whose service is a stand-in in memory. */
export function createTestUsage(options: TestOptions<UsageReporterOptions> = {}): TestUsage {
  const told: Record<string, number> = {}
  const answers = () => ({
    'usage/reports'({ records, sample_rate }: UsageReport) {
      for (const { key_id, count } of records) told[key_id] = (told[key_id] ?? 0) + count / sample_rate
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
      return { ...told }
    },
  }
}

import { type Limiter, openLimiter } from '../../packages/sdk/src/limits/limit.ts'
import { createGate } from '../../packages/sdk/src/protect/request-gate.ts'
import type { Clock } from '../../packages/sdk/src/runtime/clock.ts'
import type { Reports } from '../../packages/sdk/src/runtime/reports.ts'
import { openUsageReporter, type UsageReporter } from '../../packages/sdk/src/usage/reporter.ts'
import type { Valid } from '../../packages/sdk/src/verify/verdict.ts'
import type { Verify } from '../../packages/sdk/src/verify/verify.ts'
import type { Json } from './case.ts'

interface World {
  connection: { url: string; secretKey: string; project: string }
  clock: Clock
  random: () => number
  /** The most that any request waits. */
  mostMs: number
  reports: Reports
}

/** What a node of the SDK does beyond verifying: it charges limits, counts requests, and protects a route. */
export class SdkRoute {
  readonly #verify: Verify
  readonly #limiter: Limiter
  readonly #usage: UsageReporter

  constructor(verify: Verify, { connection, clock, random, mostMs, reports }: World) {
    const now = () => clock.monotonic()
    this.#verify = verify
    this.#limiter = openLimiter(
      { ...connection, timeoutMs: Math.min(1_000, mostMs), prepay: false },
      { now, reports },
    )
    const { url, secretKey } = connection
    this.#usage = openUsageReporter(
      { url, secretKey, timeoutMs: Math.min(10_000, mostMs) },
      { timer: { after: () => () => {} }, random, now: () => clock.wall(), monotonic: now, reports },
    )
  }

  async limit({ key, cost }: Json): Promise<Json> {
    const verdict = await this.#limiter.limit(
      this.#valid(key),
      cost === undefined ? {} : { cost: cost as number },
    )
    const { allowed, code, headers } = verdict
    if (allowed) return { allowed, code, status: null, headers }
    const { problem } = verdict
    return { allowed, code, status: problem.status, headers: { ...headers, ...problem.headers } }
  }

  count({ key, requests }: Json): void {
    this.#usage.count(this.#valid(key), requests as number | undefined)
  }

  async report(): Promise<Json> {
    await this.#usage.flush()
    const { lastError, pending } = this.#usage.stats()
    return { code: lastError, pending }
  }

  async gate({ headers, scopes, cost, header, ip }: Json): Promise<Json> {
    const gate = createGate(
      { verify: this.#verify },
      { limiter: this.#limiter, ...(header !== undefined && { header: header as string }) },
    )
    const admission = await gate.admit(
      { rawHeaders: (headers as [string, string][]).flat(), ...(ip !== undefined && { ip: ip as string }) },
      {
        ...(scopes !== undefined && { scopes: scopes as string[] }),
        ...(cost !== undefined && { cost: cost as number }),
      },
    )
    if (admission.refusal === undefined)
      return { status: 200, code: null, headers: admission.headers, key_id: admission.key?.keyId ?? null }
    const { status, headers: answered, body } = admission.refusal
    return { status, code: (body as Json).code, headers: answered, key_id: null }
  }

  /** Sends nothing more. */
  async close(): Promise<void> {
    await this.#usage.close({ timeoutMs: 0 })
  }

  #valid(key: unknown): Valid {
    const verdict = this.#verify(key as string)
    if (!verdict.valid) throw new Error(`the key is ${verdict.code}`)
    return verdict
  }
}

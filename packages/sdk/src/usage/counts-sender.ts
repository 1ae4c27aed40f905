import { type HttpCaller, type HttpRequest, readDate } from '../http/call.ts'
import type { UsageReport } from '../http/call-types.ts'
import { parseMembers } from '../http/json.ts'
import { explainLacking } from '../http/lacking.ts'
import type { KeyrailErrorCode } from '../runtime/error-codes.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { Reports } from '../runtime/reports.ts'
import type { ServiceTime } from '../runtime/service-time.ts'
import { requestsIn, type UsageCounts } from './counts.ts'
import { passedOver } from './uncounted.ts'

/** Sends one request to the service, within the time limits of the reporter. */
export type Ask = (
  request: Pick<HttpRequest, 'method' | 'path' | 'body' | 'accepts'>,
) => ReturnType<HttpCaller>

interface CountsSenderDeps {
  ask: Ask
  counts: UsageCounts
  sampleRate: number
  time: ServiceTime
  /** This machine's wall clock, by which requests are counted until an answer shows the service's time. */
  now: () => number
  reports: Reports
}

/** Sends counted requests, one report after the other. */
export class CountsSender {
  /** Attempts that have failed since one succeeded. */
  failures = 0
  retryAfterMs: number | undefined
  lastError: KeyrailErrorCode | null = null
  /** Requests in reports that the service has acknowledged. */
  reported = 0
  /** Requests in reports that the service has refused or ignored. */
  refused = 0
  readonly #deps: CountsSenderDeps
  /** The report in flight. Its id and records stay the same until it is acknowledged. */
  #sending: UsageReport | undefined
  #hasAskedTime = false

  constructor(deps: CountsSenderDeps) {
    this.#deps = deps
  }

  /** Requests that the service has not acknowledged. */
  get pending(): number {
    return this.#deps.counts.total + (this.#sending === undefined ? 0 : requestsIn(this.#sending))
  }

  /** Sends all counts. Stops at an attempt that fails; the next call repeats that report first. */
  async send(): Promise<void> {
    const { counts, sampleRate, time } = this.#deps
    for (;;) {
      if (this.#sending === undefined) {
        if (counts.size > 0 && !this.#hasAskedTime && !time.isKnown) await this.#learnTime()
        const records = counts.take(time.now())
        if (records.length === 0) return
        this.#sending = { report_id: crypto.randomUUID(), sample_rate: sampleRate, records }
      }
      if (!(await this.#attempt(this.#sending))) return
    }
  }

  /** @returns whether the next report may be sent */
  async #attempt(report: UsageReport): Promise<boolean> {
    const { reports } = this.#deps
    try {
      const ignored = await this.#post(report)
      const { length } = report.records
      if (ignored < length) this.reported += requestsIn(report)
      else this.refused += requestsIn(report)
      this.#sending = undefined
      this.failures = 0
      this.lastError = ignored > 0 ? 'usage_ignored' : null
      if (ignored > 0) reports.error(passedOver(ignored, length))
      else reports.success()
      return true
    } catch (thrown) {
      const error = thrown as KeyrailError
      this.lastError = error.code
      this.retryAfterMs = error.retryAfterMs
      // The end of the reporter has aborted the call, and reports all unsent counts at once.
      if (error.code !== 'aborted') reports.error(explainLacking(error, 'usage'))
      // A report that is invalid in itself would block all later reports forever.
      if (error.status === 400 || error.status === 413) {
        this.refused += requestsIn(report)
        this.#sending = undefined
        return true
      }
      this.failures++
      return false
    }
  }

  /** @returns how many records of the report the service ignored */
  async #post(report: UsageReport): Promise<number> {
    const path = '/v1/usage/reports'
    const answer = await this.#deps.ask({ method: 'POST', path, body: report, accepts: [202] })
    this.#learnFrom(answer)
    const { ignored } = parseMembers(answer.text)
    return typeof ignored === 'number' ? ignored : 0
  }

  /** Asks for the time before the first report, so that the report names hours by the service's clock. */
  async #learnTime(): Promise<void> {
    const path = '/v1/healthz'
    try {
      this.#learnFrom(await this.#deps.ask({ method: 'GET', path, accepts: [200, 404] }))
      this.#hasAskedTime = true
    } catch {
      // The report will meet and report the same error.
    }
  }

  /** The first answer with a time corrects the hours of requests that were counted by this machine's clock. */
  #learnFrom({ headers }: { headers: Pick<Headers, 'get'> }): void {
    const { time, counts, now } = this.#deps
    const isFirst = !time.isKnown
    const date = readDate(headers.get('date'))
    if (date !== undefined) time.observe(date)
    if (isFirst && time.isKnown) counts.moveBy(time.now() - now())
  }
}

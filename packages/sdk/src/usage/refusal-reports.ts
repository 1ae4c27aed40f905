import type { HttpRequest } from '../http/call.ts'
import type { RefusalReport } from '../http/call-types.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { countedBy, type RefusalCounts } from '../verify/refusal-counts.ts'
import type { Verify } from '../verify/verify.ts'

type Ask = (request: Pick<HttpRequest, 'method' | 'path' | 'body' | 'accepts'>) => Promise<unknown>

/**
 * A service that answers with such a status has no such route, or cannot hold this report. No refusal is sent to it until its
 * feed takes reports.
 */
const isFinal = ({ status = 0 }: KeyrailError): boolean => status >= 400 && status < 500 && !isPassing(status)
const isPassing = (status: number): boolean => status === 401 || status === 408 || status === 429

/** Sends the refusals that keyrings have counted. Reports no error: a lost count harms no request, and the keyring reports an outage. */
export class RefusalReports {
  readonly #sources = new Set<RefusalCounts>()
  /** The reports without an answer. A report stays the same until it has an answer. */
  readonly #sending = new Map<RefusalCounts, RefusalReport>()

  add(source: RefusalCounts): void {
    this.#sources.add(source)
  }

  /** How many refusals may still be sent. */
  get size(): number {
    let size = 0
    for (const source of this.#sources) if (source.isTaken !== false) size += source.size
    return size + this.#sending.size
  }

  /** Sends all reports. Stops at an attempt that fails; the next call repeats that report first. */
  async send(ask: Ask): Promise<void> {
    for (const source of this.#sources) {
      while (this.#next(source)) if (!(await this.#attempt(source, ask))) return
      if (source.isOver) this.#sources.delete(source)
    }
  }

  /** @returns whether there is a report to send */
  #next(source: RefusalCounts): boolean {
    if (source.isTaken === false) this.#sending.delete(source)
    // Until the feed has told it, nobody knows whether the service takes reports.
    if (source.isTaken === undefined) return false
    if (!this.#sending.has(source)) {
      const taken = source.take()
      if (taken !== undefined) this.#sending.set(source, { report_id: crypto.randomUUID(), ...taken })
    }
    return this.#sending.has(source)
  }

  /** @returns whether the next report may be sent */
  async #attempt(source: RefusalCounts, ask: Ask): Promise<boolean> {
    try {
      const path = '/v1/usage/refusals'
      await ask({ method: 'POST', path, body: this.#sending.get(source), accepts: [202] })
    } catch (thrown) {
      if (!isFinal(thrown as KeyrailError)) return false
      source.isTaken = false
    }
    this.#sending.delete(source)
    return true
  }
}

/** The field of a usage reporter that sends the refusals beside it. */
const refusalReports = Symbol('keyrail:refusal-reports')

/** Lets guards find what sends refusals beside a reporter. @returns the reporter */
export const sentBy = <Reporter extends object>(reporter: Reporter, refusals: RefusalReports): Reporter =>
  Object.defineProperty(reporter, refusalReports, { value: refusals })

/**
 * Sends the refusals of a keyring with the reports of usage.
 *
 * @returns what counts them; undefined if one of the two is the caller's own
 */
export function sendRefusals(
  reporter: object & { readonly [refusalReports]?: RefusalReports },
  { verify }: { verify: Verify },
): RefusalCounts | undefined {
  const counts = countedBy(verify)?.counts
  const reports = reporter[refusalReports]
  if (counts === undefined || !(reports instanceof RefusalReports)) return undefined
  reports.add(counts)
  return counts
}

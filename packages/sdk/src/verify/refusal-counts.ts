import { readKeyForm } from './token.ts'
import type { RefusalCode, Valid } from './verdict.ts'
import type { Verify } from './verify.ts'

const HOUR_MS = 3_600_000
/** The service ignores hours that are older than this. */
const HOURS_MAX = 7 * 24
const RECORDS_MAX = 100
const COUNT_MAX = 1_000_000_000

/**
 * The refusals that are counted: those that say something about a key. A service ignores the reasons that it does not know.
 */
const reasons = [
  'unknown_key',
  'revoked_key',
  'disabled_key',
  'suspended_tenant',
  'expired_key',
  'too_old',
  'ip_unknown',
  'ip_not_allowed',
  'insufficient_scope',
  'rate_limited',
] as const satisfies readonly (RefusalCode | 'rate_limited')[]
const places: ReadonlyMap<string, number> = new Map(reasons.map((reason, at) => [reason, at]))
const environments = ['live', 'test'] as const

/** Counted refusals of one project and environment, of which there is at least one. */
interface Refusals {
  project_id: string
  env: 'live' | 'test'
  records: { hour: string; reason: string; count: number }[]
}

/**
 * Refusals by reason and hour that are not yet in a report. Bounded: it knows no keys, and no more hours than the service
 * counts.
 */
export class RefusalCounts {
  /** Whether the service takes reports of refusals; undefined: the service has not answered yet. */
  isTaken: boolean | undefined
  /** Whether nothing is counted any more. */
  isOver = false
  readonly #project: string
  readonly #now: () => number
  /** Of keys whose text has none. */
  readonly #env: 'live' | 'test'
  /** Refusals since the last report was made: one number for each reason in live, then for each in test. */
  #counts = empty()
  /** Earlier refusals by hour since 1970, in the order in which the hours came. */
  readonly #hours = new Map<number, Float64Array>()

  /**
   * @param now the time of the service, in milliseconds since the epoch
   * @param env of a key from elsewhere that is not known. A node of test may report on test alone
   */
  constructor(project: string, now: () => number, env: 'live' | 'test' | 'both' = 'live') {
    this.#project = project
    this.#now = now
    this.#env = env === 'test' ? 'test' : 'live'
  }

  /** @param key as it was presented, or its verdict */
  add(code: string, key: string | Pick<Valid, 'env'> | null | undefined): void {
    const place = places.get(code)
    if (place === undefined || key === null || key === undefined) return
    const form = typeof key === 'string' ? readKeyForm(key) : key.env
    const env = form === 'malformed' ? this.#env : form
    const at = place + (env === 'test' ? reasons.length : 0)
    this.#counts[at] = (this.#counts[at] as number) + 1
  }

  /** How many refusals are in no report. */
  get size(): number {
    return [this.#counts, ...this.#hours.values()].reduce((sum, counts) => sum + sumOf(counts), 0)
  }

  /** Takes what one report holds, oldest hours first. Forgets everything if the service takes no reports. */
  take(): Refusals | undefined {
    this.settle()
    if (this.isTaken === false) this.#hours.clear()
    for (const [at, env] of environments.entries()) {
      const records: Refusals['records'] = []
      for (const [hour, counts] of this.#hours)
        for (const [place, reason] of reasons.entries()) {
          const count = Math.min(counts[at * reasons.length + place] as number, COUNT_MAX)
          if (count === 0 || records.length === RECORDS_MAX) continue
          counts[at * reasons.length + place] = (counts[at * reasons.length + place] as number) - count
          records.push({ hour: new Date(hour * HOUR_MS).toISOString(), reason, count })
        }
      if (records.length > 0) return { project_id: this.#project, env, records }
    }
    this.#hours.clear()
    return undefined
  }

  /** Adds what was counted to this hour. */
  settle(): void {
    if (sumOf(this.#counts) === 0) return
    const hour = Math.floor(this.#now() / HOUR_MS)
    const before = this.#hours.get(hour) ?? empty()
    this.#hours.set(
      hour,
      before.map((count, at) => count + (this.#counts[at] as number)),
    )
    this.#counts.fill(0)
    for (const known of this.#hours.keys()) if (known < hour - HOURS_MAX) this.#hours.delete(known)
    // A clock that jumps names hours that come never again.
    if (this.#hours.size > HOURS_MAX + 1) this.#hours.clear()
  }
}

const empty = () => new Float64Array(reasons.length * environments.length)
const sumOf = (counts: Float64Array): number => counts.reduce((sum, count) => sum + count, 0)

/** What counts the refusals of a keyring, and how it judges without counting. */
interface Counted {
  /** The function that counts. */
  readonly verify: Verify
  readonly judge: Verify
  readonly counts: RefusalCounts
}

/** The field of a `verify` that counts. */
const counted = Symbol('keyrail:counted')

/** Undefined if `verify` does not belong to a keyring that counts, such as a function of the caller, or a proxy of the caller. */
export function countedBy(verify: Verify & { readonly [counted]?: Counted }): Counted | undefined {
  const found = verify[counted]
  // A proxy has the field of the function behind it, and must not be bypassed.
  return found?.verify === verify ? found : undefined
}

/** Judges, and counts each refusal. A guard counts by itself, because it also knows the refusals that are not of keys. */
export function counting(judge: Verify, counts: RefusalCounts): Verify {
  const verify: Verify = (key, requirements) => {
    const verdict = judge(key, requirements)
    if (!verdict.valid) counts.add(verdict.code, key)
    return verdict
  }
  return Object.defineProperty(verify, counted, { value: { verify, judge, counts } satisfies Counted })
}

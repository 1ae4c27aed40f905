import { guardPrefix, shadowPrefix, shadowRefusals, shadowWords } from '@keyrail/contract/verdicts'
import { saysNothing } from './shadow.ts'
import { readKeyForm } from './token.ts'
import type { RefusalCode, Valid, Verdict } from './verdict.ts'
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
/** What is counted: refusals, then what a keyring in shadow would refuse, and where an old check agrees. */
const words: readonly string[] = [...reasons, ...shadowWords.map(word => `${shadowPrefix}${word}`)]
const AGREED = reasons.length
const ACCEPTED = AGREED + 1
const placesOf = (before: string): ReadonlyMap<string, number> =>
  new Map(shadowRefusals.map(code => [code, words.indexOf(`${shadowPrefix}${before}${code}`)]))
/** Of what an old check accepts. */
const comparedPlaces = placesOf('')
/** Of what a guard would refuse. */
const guardPlaces = placesOf(guardPrefix)
/** Verdicts with these codes say nothing about a key that is known here, so no environment is looked up: a flood costs no hash. */
const ofNoKey: ReadonlySet<string> = new Set<RefusalCode>([
  'missing_key',
  'malformed_key',
  'not_ready',
  'stale',
  'not_held',
  'unknown_key',
])
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
  /** The environment of a known key whose text has none. */
  envOf: ((key: string) => 'live' | 'test' | undefined) | undefined
  readonly #project: string
  readonly #now: () => number
  readonly #env: 'live' | 'test' | 'both'
  readonly #places: ReadonlyMap<string, number>
  /** Refusals since the last report was made: one number for each word in live, then for each in test. */
  #counts = empty()
  /** Earlier refusals by hour since 1970, in the order in which the hours came. */
  readonly #hours = new Map<number, Float64Array>()

  /**
   * @param now the time of the service, in milliseconds since the epoch
   * @param env of the node, which reports on no other: a credential of test may report on test alone
   * @param isShadow whether the refusals that are added are of a keyring in shadow, which refuses nothing
   */
  constructor(
    project: string,
    now: () => number,
    env: 'live' | 'test' | 'both' = 'both',
    isShadow: boolean = false,
  ) {
    this.#project = project
    this.#now = now
    this.#env = env
    this.#places = isShadow ? guardPlaces : places
  }

  /** Whether refusals with this code are counted. */
  has(code: string): boolean {
    return this.#places.has(code)
  }

  /** @param key as it was presented, or its verdict */
  add(code: string, key: string | Pick<Valid, 'env'> | null | undefined): void {
    this.#count(this.#places.get(code), code, key)
  }

  /** Counts a verdict beside that of an old check. */
  compare(verdict: Verdict, accepted: boolean, key: string | null | undefined): void {
    if (saysNothing(verdict, accepted)) return
    const place = verdict.valid ? ACCEPTED : comparedPlaces.get(verdict.code)
    // Programs without types may hand over what their check found.
    const isAgreed = verdict.valid === Boolean(accepted)
    this.#count(isAgreed ? AGREED : place, verdict.code, verdict.valid ? verdict : key)
  }

  #count(place: number | undefined, code: string, key: string | Pick<Valid, 'env'> | null | undefined): void {
    if (place === undefined) return
    const at = place + (this.#envOf(code, key) === 'test' ? words.length : 0)
    this.#counts[at] = (this.#counts[at] as number) + 1
  }

  #envOf(code: string, key: string | Pick<Valid, 'env'> | null | undefined): 'live' | 'test' {
    if (this.#env !== 'both') return this.#env
    if (key === null || key === undefined) return 'live'
    if (typeof key !== 'string') return key.env
    const form = readKeyForm(key)
    if (form !== 'malformed') return form
    return (ofNoKey.has(code) ? undefined : this.envOf?.(key)) ?? 'live'
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
        for (const [place, reason] of words.entries()) {
          const count = Math.min(counts[at * words.length + place] as number, COUNT_MAX)
          if (count === 0 || records.length === RECORDS_MAX) continue
          counts[at * words.length + place] = (counts[at * words.length + place] as number) - count
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

const empty = () => new Float64Array(words.length * environments.length)
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
    if (!verdict.valid) counts.add(verdict.code, typeof key === 'string' ? key : undefined)
    return verdict
  }
  return Object.defineProperty(verify, counted, { value: { verify, judge, counts } satisfies Counted })
}

import { refuseUnknown } from '../http/connection-options.ts'
import { readBoolean, readInteger } from '../http/option-values.ts'
import type { RateLimit } from '../store/rate-limits.ts'
import { COST_MAX } from './cost.ts'
import { type Memory, REMEMBERED_MS } from './denials.ts'
import { isolatesRequests } from './isolates-requests.ts'
import { isJudged } from './part.ts'
import type { PrepayLimits } from './pool.ts'

/** Bounds of `prepay`. */
export interface PrepayOptions {
  /** How many units of one limit are held at most, 1 to 1,000. Default: 1,000. */
  maxUnits?: number | undefined
  /** For how much demand to charge ahead, in ms; never for more than a twentieth of a window. Default: 5,000. */
  maxAgeMs?: number | undefined
  /**
   * Lets units of a sliding limit gather after a denial, for a sixteenth of its window: fewer than half the calls
   * at the limit, and up to 4 % fewer requests pass. Default: false, each unit is charged as it comes back.
   */
  gather?: boolean | undefined
}

/** Which limits are charged ahead, and how far. */
export interface Prepay {
  readonly limits: PrepayLimits
  /** Whether the program did not choose, and the number of nodes decides. */
  readonly isAutomatic: boolean
  readonly denials: Memory
  /** Whether the limits of a key are charged ahead: all of them, or none. */
  covers(env: string, rules: readonly RateLimit[]): boolean
  /** @param nodes how many check limits, as the service says; undefined if it does not */
  noteNodes(env: string, nodes: number | undefined): void
}

const names: { readonly [Name in keyof Required<PrepayOptions>]: true } = {
  maxUnits: true,
  maxAgeMs: true,
  gather: true,
}
/** Of a service that is asked about most requests. */
export const shortMemory: Memory = { longestMs: REMEMBERED_MS, isGathering: false }
/**
 * A limit is charged ahead by itself if each node could have so much of it. What all nodes strand of a smaller one, customers
 * would notice.
 */
const UNITS_A_NODE = 1_000

/**
 * @param option undefined: by the number of nodes; false: none
 * @throws TypeError
 */
export function readPrepay(option: PrepayOptions | false | undefined): Prepay | undefined {
  if (option === false) return undefined
  if (option === undefined) return isolatesRequests() ? undefined : new AutomaticPrepay(readLimits({}))
  refuseUnknown('prepay of createLimiter', option, names)
  const covers = (_: string, rules: readonly RateLimit[]) => rules.every(isJudged)
  const isGathering = readBoolean('prepay.gather', option.gather ?? false)
  const denials = { longestMs: Number.POSITIVE_INFINITY, isGathering }
  return { limits: readLimits(option), isAutomatic: false, denials, covers, noteNodes: () => {} }
}

function readLimits({ maxUnits = COST_MAX, maxAgeMs = 5_000 }: PrepayOptions): PrepayLimits {
  return {
    maxUnits: readInteger('prepay.maxUnits', maxUnits, 1, COST_MAX),
    maxAgeMs: readInteger('prepay.maxAgeMs', maxAgeMs, 1, 60_000),
  }
}

/** Charges nothing ahead until the service has said how many nodes check. */
class AutomaticPrepay implements Prepay {
  readonly limits: PrepayLimits
  readonly isAutomatic = true
  readonly denials = shortMemory
  /** By environment. */
  readonly #nodes = new Map<string, number>()

  constructor(limits: PrepayLimits) {
    this.limits = limits
  }

  /** With a small limit among them each request needs its call, and calls for the others would come on top. */
  covers(env: string, rules: readonly RateLimit[]): boolean {
    const nodes = this.#nodes.get(env)
    return nodes !== undefined && rules.every(rule => isJudged(rule) && rule.limit >= UNITS_A_NODE * nodes)
  }

  noteNodes(env: string, nodes: number | undefined): void {
    if (nodes === undefined) this.#nodes.delete(env)
    else this.#nodes.set(env, nodes)
  }
}

import type { Check, Tally } from '../fold.ts'
import { type Subject, subjectOf } from '../subject.ts'
import { type Cell, counterName, type Rule } from '../window.ts'

/** The tag of all keys that share a slot of a cluster. All subjects of a check have one project and environment, so one tag. */
export const tagOf = ({ workspaceId, projectId, env }: Omit<Subject, 'kind' | 'id'>): string =>
  `${workspaceId}:${projectId}:${env}`

/** Redis Cluster hashes only the part in braces to find the slot of a key. */
export const keyOf = (subject: Subject): string => `keyrail:{${tagOf(subject)}}:${subject.kind}:${subject.id}`

/** The input of the script. */
export interface Batch {
  keys: string[]
  /** The policies and the checks, as JSON. */
  checks: string
}

/** A vendor sends the same limits with every check of a plan, so a batch has each list of them once. */
type PackedRule = [counter: string, windowMs: number, limit: number, isFixed: boolean, scope: 1 | 2]
/** Policy, key and tenant of a check, as indexes from 1; 0 stands for none. `units` is absent if the usual number applies. */
type PackedCheck = [cost: number, policy: number, key: number, tenant: number, units?: number]

/** @param unitsOf the most units that the tag of a check may hold; undefined: the usual number. */
export function toBatch(
  checks: readonly Check[],
  unitsOf: (check: Check) => number | undefined = () => undefined,
): Batch {
  const places = new Map<string, number>()
  const keys: string[] = []
  const placeOf = (subject: Subject) => {
    const key = keyOf(subject)
    const known = places.get(key)
    if (known !== undefined) return known
    const place = keys.push(key)
    places.set(key, place)
    return place
  }
  const policies: PackedRule[][] = []
  const policyPlaces = new Map<string, number>()
  const policyOf = (rules: readonly Rule[]) => {
    const name = nameOfPolicy(rules)
    const known = policyPlaces.get(name)
    if (known !== undefined) return known
    const place = policies.push(rules.map(packed))
    policyPlaces.set(name, place)
    return place
  }
  const asked = checks.map((check): PackedCheck => {
    const { cost, rules } = check
    const placeIn = (scope: Rule['scope']) =>
      rules.some(rule => rule.scope === scope) ? placeOf(subjectOf(check, scope)) : 0
    const units = unitsOf(check)
    const [policy, key, tenant] = [policyOf(rules), placeIn('key'), placeIn('tenant')]
    return units === undefined ? [cost, policy, key, tenant] : [cost, policy, key, tenant, units]
  })
  return { keys, checks: JSON.stringify([policies, asked]) }
}

/** Everything that the script reads of the rules, as text. No part contains a space. */
function nameOfPolicy(rules: readonly Rule[]): string {
  let name = ''
  for (const { id, algorithm, window_ms, limit, scope } of rules)
    name += `${id} ${algorithm} ${window_ms} ${limit} ${scope} `
  return name
}

/** A rule as the script reads it. A new algorithm or scope does not compile without an entry here. */
const isFixed = { fixed: true, sliding: false } as const satisfies Record<Rule['algorithm'], boolean>
const placeOfScope = { key: 1, tenant: 2 } as const satisfies Record<Rule['scope'], number>

const packed = (rule: Rule): PackedRule => [
  counterName(rule),
  rule.window_ms,
  rule.limit,
  isFixed[rule.algorithm],
  placeOfScope[rule.scope],
]

/** An upper bound for the bytes of a check in a batch: two keys, and the longest id in each rule. */
export const bytesOf = ({ rules }: Check): number => 320 + 144 * rules.length

/** Reads the numbers that the script returns. @returns null for a check that needs a counter for which there is no space. */
export function toTallies(numbers: readonly number[], checks: readonly Check[]): (Tally | null)[] {
  let at = 0
  const next = () => numbers[at++] as number
  const now = next()
  return checks.map(({ rules }) => {
    const verdict = next()
    const cells = rules.map((): Cell => ({ start: next(), previous: next(), current: next() }))
    return verdict === 2 ? null : { now, allowed: verdict === 1, cells }
  })
}

/** What has changed in a tag: the units that end at each time were added, or taken away if the number is negative. */
export interface Change {
  readonly tag: string
  /** The units that the tag holds. */
  readonly held: number
  readonly isNear: boolean
  readonly added: readonly number[]
}

/** What the script returns. */
export type Returned = [numbers: number[], changes: [tag: string, held: number, near: number, ...number[]][]]

export const toChanges = (changes: Returned[1]): Change[] =>
  changes.map(([tag, held, near, ...added]) => ({ tag, held, isNear: near === 1, added }))

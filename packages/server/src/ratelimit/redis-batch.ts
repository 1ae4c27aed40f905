import type { Check, Tally } from './fold.ts'
import { type Subject, subjectOf } from './subject.ts'
import { type Cell, counterName } from './window.ts'

/** Names what must stand together in a cluster: all subjects of a check are of one project and environment. */
export const tagOf = ({ workspaceId, projectId, env }: Omit<Subject, 'kind' | 'id'>): string =>
  `${workspaceId}:${projectId}:${env}`

/** The braces tell Redis Cluster which part of a key decides where it stands. */
export const keyOf = (subject: Subject): string => `keyrail:{${tagOf(subject)}}:${subject.kind}:${subject.id}`

/** What the script is given. */
export interface Batch {
  keys: string[]
  /** Checks as JSON, as the script takes them. */
  checks: string
}

export function toBatch(checks: readonly Check[]): Batch {
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
  const asked = checks.map(check => [
    check.cost,
    check.rules.map(rule => [
      placeOf(subjectOf(check, rule.scope)),
      counterName(rule),
      rule.window_ms,
      rule.limit,
      rule.algorithm === 'fixed',
    ]),
  ])
  return { keys, checks: JSON.stringify(asked) }
}

/** More than a check takes of a batch: two keys, and the longest id in each rule. */
export const bytesOf = ({ rules }: Check): number => 320 + 144 * rules.length

/** The script's numbers, told apart. */
export function toTallies(numbers: readonly number[], checks: readonly Check[]): Tally[] {
  let at = 0
  const next = () => numbers[at++] as number
  const now = next()
  return checks.map(({ rules }) => {
    const allowed = next() === 1
    const cells = rules.map((): Cell => ({ start: next(), previous: next(), current: next() }))
    return { now, allowed, cells }
  })
}

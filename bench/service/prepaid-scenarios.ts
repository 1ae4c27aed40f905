import { randomUUID } from 'node:crypto'
import type { Rule } from '../../packages/server/src/ratelimit/window.ts'

/** Requests for keys of one tenant, and the limits of each. */
export interface Scenario {
  name: string
  tenantId: string
  keyIds: string[]
  /** Whether the nth key is asked for in proportion to 1/n. */
  isZipf: boolean
  rules: Rule[]
  /** Limiters in each process. They share nothing, as if each had its own process. */
  nodes: number
  /** Requests a second in each process, over all its nodes and keys. */
  rate: number
  /** The share of calls whose answers are lost on the way back. */
  lost: number
  /** From a question to its answer at least. The service answers sooner; the rest passes before and behind it. */
  answerMs: number
}

export const WINDOW_MS = 2_500

const rule = (limit: number, more: Partial<Rule> = {}): Rule => ({
  ...{ id: 'bench', limit, window_ms: WINDOW_MS, algorithm: 'fixed', scope: 'key' },
  ...more,
})
const scenario = (
  name: string,
  rate: number,
  rules: Rule[],
  more: Partial<Scenario> & { keys?: number } = {},
) => {
  const { keys = 1, ...rest } = more
  const keyIds = Array.from({ length: keys }, () => randomUUID())
  return {
    name,
    rate,
    rules,
    tenantId: randomUUID(),
    keyIds,
    isZipf: false,
    nodes: 1,
    lost: 0,
    answerMs: 0,
    ...rest,
  }
}
const sliding = { algorithm: 'sliding' } as const

/** Of a service beside the node, in its region, and in others. */
export const answersMs = [2, 20, 80, 220]
export const hotName = (answerMs: number): string => `hot, ${answerMs} ms`

/** Each in two processes, with unused keys. */
export const sharedScenarios = (): Scenario[] => [
  ...answersMs.map(answerMs => scenario(hotName(answerMs), 400, [rule(2_500)], { answerMs })),
  scenario('sliding', 200, [rule(1_250, sliding)]),
  scenario('over the limit', 100, [rule(333, sliding)]),
  scenario('flood', 200, [rule(100)]),
  scenario('Zipf', 100, [rule(20, sliding)], { keys: 1_000, isZipf: true }),
  scenario('key and tenant', 100, [rule(150), rule(375, { id: 'all', scope: 'tenant', ...sliding })], {
    keys: 3,
  }),
  scenario('20 nodes', 200, [rule(667)], { nodes: 10 }),
  scenario('lost answers', 100, [rule(333)], { lost: 0.05 }),
]

/** In two processes that are killed and replaced. */
export const killedScenario = (): Scenario => scenario('killed nodes', 100, [rule(333)])

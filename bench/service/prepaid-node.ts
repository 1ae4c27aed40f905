import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, type Limiter } from '../../packages/sdk/src/limits/limit.ts'
import type { Valid } from '../../packages/sdk/src/verify/verdict.ts'
import { record } from './prepaid-records.ts'
import type { Scenario } from './prepaid-scenarios.ts'

/** A process with limiters of the SDK: warms up, waits for its turn, sends requests, and records what passed. */
export interface NodePlan {
  url: string
  token: string
  projectId: string
  scenarios: Scenario[]
  /** Where it records. */
  path: string
  warmMs: number
}
/** When to send the requests of the first scenario, in ms since 1970. The others follow, each for as long. */
export interface NodeTurn {
  from: number
  until: number
}

type Check = { key_id: string; cost: number }
type Answer = { allowed?: boolean }

/** Of one check, or of a list. */
const checksIn = (body: Check | { checks: Check[] }): Check[] => ('checks' in body ? body.checks : [body])
const answersIn = (body: Answer | { checks: Answer[] }): Answer[] => ('checks' in body ? body.checks : [body])

const [plan] = (await once(process, 'message')) as [NodePlan]
const file = openSync(plan.path, 'a')
const streams = plan.scenarios.map((scenario, index) => openStream(scenario, index))
const warmUntil = Date.now() + plan.warmMs
await Promise.all(streams.map(({ ask }) => warmUp(ask)))
process.send?.('warm')
const [turn] = (await once(process, 'message')) as [NodeTurn]
await sleep(turn.from - Date.now())
await send(turn)
process.send?.('done', () => process.disconnect())

/** One request at a time, because a process that has just started is slow. */
async function warmUp(ask: (isWarmUp: boolean) => Promise<void>): Promise<void> {
  while (Date.now() < warmUntil) {
    await ask(true)
    await sleep(2)
  }
}

/**
 * Each scenario has a turn, one after another. Requests come at random, and as many as the rate says, however late this
 * process wakes.
 */
async function send({ from, until }: NodeTurn): Promise<void> {
  const open = new Set<Promise<void>>()
  for (const [i, { ask, betweenMs }] of streams.entries()) {
    const end = until + i * (until - from)
    let due = from + i * (until - from)
    await sleep(due - Date.now())
    for (let now = Date.now(); now < end; now = Date.now()) {
      for (; due <= now; due += Math.random() * betweenMs * 2) {
        const ended = ask(false).finally(() => open.delete(ended))
        open.add(ended)
      }
      await sleep(1)
    }
  }
  await Promise.all(open)
}

function openStream(scenario: Scenario, index: number) {
  const { rules, tenantId, keyIds, rate, nodes } = scenario
  const keyOf = (keyId: string, tenantId: string): Valid => ({
    ...{ valid: true, code: 'valid', keyId, tenantId, env: 'live', scopes: [], expiresAt: null },
    rateLimits: rules.map(({ window_ms: windowMs, ...rule }) => ({ ...rule, windowMs })),
  })
  const keys = keyIds.map(id => keyOf(id, tenantId))
  const numbers = new Map(keyIds.map((id, number) => [id, number]))
  const warmKey = keyOf(randomUUID(), randomUUID())
  const limiters = Array.from({ length: nodes }, () => openNode(scenario, index, numbers))
  const draw = scenario.isZipf ? drawZipf(keys.length) : () => Math.floor(Math.random() * keys.length)
  return {
    betweenMs: 1_000 / rate,
    async ask(isWarmUp: boolean) {
      const key = draw()
      const limiter = limiters[Math.floor(Math.random() * nodes)] as Limiter
      const askedAt = Date.now()
      const { code } = await limiter.limit(isWarmUp ? warmKey : (keys[key] as Valid))
      if (isWarmUp) return
      const kind = code === 'allowed' ? 'passed' : 'refused'
      record(file, { kind, scenario: index, key, askedAt, answeredAt: Date.now(), units: 0 })
    },
  }
}

function openNode(
  { lost, answerMs }: Scenario,
  scenario: number,
  numbers: ReadonlyMap<string, number>,
): Limiter {
  const { url, token, projectId } = plan
  return createLimiter({
    ...{ url, secretKey: token, project: projectId, prepay: {}, onError: () => {} },
    // Less than a window. A busy machine is no outage.
    timeoutMs: 2_000,
    async fetch(input, init) {
      const askedAt = Date.now()
      const checks = checksIn(JSON.parse(String(init?.body)))
      await sleep(answerMs / 2)
      const answer = await fetch(input, init)
      const text = await answer.text()
      await sleep(askedAt + answerMs - Date.now())
      const isLost = Math.random() < lost
      const verdicts = answer.ok ? answersIn(JSON.parse(text)) : []
      const call = { kind: isLost ? 'lost' : 'call', scenario, askedAt, answeredAt: Date.now() } as const
      for (const [i, { key_id, cost }] of checks.entries()) {
        const key = numbers.get(key_id)
        const units = verdicts[i]?.allowed ? cost : 0
        if (key !== undefined) record(file, { ...call, key, units })
      }
      if (isLost) throw Object.assign(new Error('lost'), { code: 'ECONNRESET' })
      return new Response(text, answer)
    },
  })
}

function drawZipf(count: number): () => number {
  let sum = 0
  const upTo = Array.from({ length: count }, (_, i) => {
    sum += 1 / (i + 1)
    return sum
  })
  return () => {
    const at = Math.random() * sum
    return upTo.findIndex(bound => at < bound)
  }
}

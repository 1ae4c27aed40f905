import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Seeded, seeded } from '../../packages/server/test/seeded.ts'
import {
  type Call,
  type CallAnswer,
  explainAll,
  headersOf,
  type ModelState,
  withPruned,
} from './idempotency-model.ts'
import {
  type AskIdempotency,
  type IdempotencyStage,
  onIdempotencyStage,
  type Victim,
  victims,
} from './idempotency-stage.ts'

/** Records of a history, all called at once, so that their calls share statements. */
const records = 24
const steps = 40
/** Once in this many steps something is killed, while its calls are under way. */
const stepsAKill = 8
/** Simultaneous calls of one record. All their orders are tried: 24 at most. */
const mostAtOnce = 4

/** Jumps over the ends of locks and of lives, a millisecond before, at, and after them. */
const leapsMs = [0, 1, 10_000, 29_999, 30_000, 30_001, 60_000, 3_600_000, 86_400_000]
const ttlsMs = [null, 60_000, 3_600_000]
/** Base64 of an answer that shares a connection with others, and of one that takes a separate connection. */
const bodies = [null, '', 'b2s=', 'AAAA'.repeat(30_000)]

export interface Histories {
  cycles: number
  seed: number
  signal?: AbortSignal
  say?(line: string): void
  /** Changes a history's calls, to check that the drill detects a fault. */
  meddle?(ask: AskIdempotency): AskIdempotency
}

export interface HistoryTally {
  /** Calls and their verdicts, by `name verdict`. */
  readonly verdicts: Map<string, number>
  /** How often each was killed in the middle of a step. */
  readonly kills: Record<Victim, number>
  readonly broken: string[]
  ended: number
  serverVersion: string
}

/** Runs histories one after another, each from its seed, until one contradicts the model. */
export async function runHistories({ cycles, seed, signal, say, meddle }: Histories): Promise<HistoryTally> {
  return await onIdempotencyStage(async stage => {
    const tally: HistoryTally = {
      verdicts: new Map(),
      kills: { service: 0, backends: 0, postmaster: 0 },
      broken: [],
      ended: 0,
      serverVersion: stage.serverVersion,
    }
    const asks = meddle === undefined ? stage.ask : stage.ask.map(meddle)
    while (tally.ended < cycles && tally.broken.length === 0 && !signal?.aborted) {
      await runHistory(stage, asks, seed + tally.ended, tally)
      tally.ended += 1
      say?.(`${tally.ended} of ${cycles} histories`)
    }
    return tally
  })
}

interface Tracked {
  readonly scope: string
  /** The possible states, by the answers. */
  states: ModelState[]
  /** Every token that any caller received for it. */
  readonly tokens: string[]
}

async function runHistory(
  stage: IdempotencyStage,
  asks: readonly AskIdempotency[],
  seed: number,
  tally: HistoryTally,
): Promise<void> {
  const random = seeded(seed)
  const tracked: Tracked[] = Array.from({ length: records }, (_, i) => ({
    scope: createHash('sha256').update(`${seed} ${i}`).digest('hex'),
    states: [null],
    tokens: [],
  }))
  for (let step = 0; step < steps; step++) {
    await stage.advance(random.pick(leapsMs))
    const now = stage.now()
    const victim = random.integer(stepsAKill) === 0 ? random.pick(victims) : null
    let isUnsure = false
    const all = Promise.all(
      tracked.map(async record => {
        const calls = Array.from({ length: 1 + random.integer(mostAtOnce) }, () => pickCall(random, record))
        const from = random.integer(asks.length)
        const answered = await Promise.all(
          calls.map(async (call, i) => {
            const ask = asks[(from + i) % asks.length] as AskIdempotency
            return { call, answer: await answerOf(ask, record.scope, call) }
          }),
        )
        isUnsure ||= answered.some(({ answer }) => answer === null)
        for (const { call, answer } of answered) {
          const name = `${call.name} ${answer === null ? '503' : answer.verdict}`
          tally.verdicts.set(name, (tally.verdicts.get(name) ?? 0) + 1)
          if (answer?.verdict === 'execute') record.tokens.push(String(answer.lock_token))
        }
        const before = withPruned(record.states, now)
        record.states = explainAll(before, answered, now)
        if (record.states.length > 0) return
        tally.broken.push(
          `seed ${seed}, step ${step}: no order explains ${short(answered)} of ${short(before)} at ${now}`,
        )
      }),
    )
    all.catch(() => {})
    if (victim !== null) {
      tally.kills[victim] += 1
      await sleep(random.integer(30))
      await stage.kill(victim)
    }
    await all
    await stage.mend()
    if (tally.broken.length > 0) return
    // Before time moves on, or it would happen at a time at which no caller sent it.
    if (isUnsure) await stage.quiet()
  }
}

function pickCall(random: Seeded, { tokens }: Tracked): Call {
  const name = random.weighted({ claim: 5, complete: 2, release: 1, heartbeat: 3 })
  if (name === 'claim') {
    const fingerprint = (random.integer(4) === 0 ? 'b' : 'a').repeat(64)
    return { name, fingerprint, ttlMs: random.pick(ttlsMs) }
  }
  // New and old tokens alike, and one that no caller received.
  const token = random.integer(3) > 0 ? tokens.at(-1) : random.pick([...tokens, 'nobodys-token'])
  if (name !== 'complete') return { name, token: token ?? 'nobodys-token' }
  const status = 200 + random.integer(300)
  return {
    name,
    token: token ?? 'nobodys-token',
    status,
    body: random.pick(bodies),
    ttlMs: random.pick(ttlsMs),
  }
}

async function answerOf(ask: AskIdempotency, scope: string, call: Call): Promise<CallAnswer> {
  const { status, body } = await ask(call.name, { scope_hash: scope, env: 'live', ...fieldsOf(call) })
  if (status === 503) return null
  return status === 200 ? body : { status, problem: body.detail }
}

function fieldsOf(call: Call): object {
  const ttlOf = (ttlMs: number | null) => (ttlMs === null ? {} : { ttl_ms: ttlMs })
  switch (call.name) {
    case 'claim':
      return { fingerprint: call.fingerprint, ...ttlOf(call.ttlMs) }
    case 'complete': {
      const { token, status, body, ttlMs } = call
      return { lock_token: token, status, headers: headersOf(status), body, ...ttlOf(ttlMs) }
    }
    default:
      return { lock_token: call.token }
  }
}

/** Bodies are long and all alike. */
const short = (value: unknown) =>
  JSON.stringify(value, (_, inner) =>
    typeof inner === 'string' && inner.length > 80 ? `${inner.length} characters` : inner,
  )

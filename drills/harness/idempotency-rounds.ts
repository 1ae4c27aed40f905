import { randomBytes } from 'node:crypto'
import { type AskIdempotency, type IdempotencyStage, onIdempotencyStage } from './idempotency-stage.ts'

/** The state that all claims of a round meet, and how many of them may get which answer. */
const situations = ['not claimed yet', 'its lock has ended', 'it is answered'] as const
type Situation = (typeof situations)[number]

const lockMs = 30_000
const completionTriesMost = 20
const fingerprint = 'a'.repeat(64)
const answer = { status: 201, headers: { 'content-type': 'text/plain' }, body: 'b2s=' }

export interface Figures {
  rounds: number
  execute: number
  inProgress: number
  replay: number
  unavailable: number
  /** The slowest answer of all rounds; measured, and not judged. */
  slowestMs: number
}

export interface Rounds {
  cycles: number
  sizes: readonly number[]
  signal?: AbortSignal
  say?(line: string): void
  /** Changes the calls of the rounds, to check that the drill detects a fault. */
  meddle?(ask: AskIdempotency): AskIdempotency
}

/** Rounds of each size, alternately through one process and through two. */
export async function runRounds({ cycles, sizes, signal, say, meddle }: Rounds) {
  return await onIdempotencyStage(async stage => {
    const figures = new Map<string, Figures>()
    const broken: string[] = []
    const asks = meddle === undefined ? stage.ask : stage.ask.map(meddle)
    for (const size of sizes) {
      for (let round = 0; round < cycles && !signal?.aborted; round++) {
        const processes = asks.slice(0, 1 + (round % 2))
        const fault = await runRound(stage, processes, size, (situation, heard) =>
          note(figures, `${size} ${processes.length} ${situation}`, heard),
        )
        if (fault !== null) broken.push(`${size} claims, ${processes.length} processes: ${fault}`)
        say?.(`${round + 1} of ${cycles} rounds of ${size}, ${broken.length} broken`)
      }
    }
    return { figures, broken, serverVersion: stage.serverVersion }
  })
}

type Heard = Awaited<ReturnType<AskIdempotency>>

/** One record through its life: claimed, taken over, answered, each time by all at once. @returns the faults. */
async function runRound(
  stage: IdempotencyStage,
  asks: readonly AskIdempotency[],
  size: number,
  noted: (situation: Situation, heard: readonly Heard[]) => void,
): Promise<string | null> {
  const scope = randomBytes(32).toString('hex')
  const first = asks[0] as AskIdempotency
  const body = { scope_hash: scope, env: 'live', fingerprint }
  const claimAll = async (situation: Situation) => {
    const heard = await Promise.all(
      Array.from({ length: size }, (_, i) => (asks[i % asks.length] as AskIdempotency)('claim', body)),
    )
    noted(situation, heard)
    // A request that got 503 must not happen after time has moved on.
    if (heard.some(({ status }) => status === 503)) await stage.quiet()
    return heard
  }
  const held = (token: string) => ({ scope_hash: scope, env: 'live', lock_token: token })

  const claimed = await claimAll('not claimed yet')
  const faultOfFirst = await oneExecutes(stage, scope, claimed)
  if (faultOfFirst !== null) return faultOfFirst
  await stage.advance(lockMs)
  const over = await claimAll('its lock has ended')
  const faultOfSecond = await oneExecutes(stage, scope, over)
  if (faultOfSecond !== null) return `taking over: ${faultOfSecond}`
  const [old = '', token = ''] = [tokensOf(claimed)[0], await tokenInStore(stage, scope)]
  const lost = await answered(stage, () => first('complete', { ...held(old), ...answer, body: 'AAAA' }))
  if (lost.body.verdict !== 'lost' && old !== '') return `the old token was answered ${lost.body.verdict}`
  const completed = await answered(stage, () => first('complete', { ...held(token), ...answer }))
  if (completed.body.verdict !== 'completed') return `the new token was answered ${completed.body.verdict}`
  const replayed = await claimAll('it is answered')
  const wrong = replayed.find(
    ({ status, body }) =>
      status !== 503 &&
      (body.verdict !== 'replay' || JSON.stringify(body.response) !== JSON.stringify(answer)),
  )
  return wrong === undefined ? null : `a replay was ${JSON.stringify(wrong.body)}`
}

/** A busy machine may answer a completion with 503; the same one again has the same result. */
async function answered({ quiet }: IdempotencyStage, ask: () => Promise<Heard>): Promise<Heard> {
  for (let tries = 1; ; tries++) {
    const heard = await ask()
    if (heard.status !== 503 || tries === completionTriesMost) return heard
    await quiet()
  }
}

const tokensOf = (heard: readonly Heard[]) =>
  heard.filter(({ body }) => body.verdict === 'execute').map(({ body }) => String(body.lock_token))

/**
 * One claim executes and all others wait. After a 503, the unanswered claim may be the one: then no other executes, and
 * the record exists.
 */
async function oneExecutes(
  stage: IdempotencyStage,
  scope: string,
  heard: readonly Heard[],
): Promise<string | null> {
  const tokens = tokensOf(heard)
  const inProgress = heard.filter(({ body }) => body.verdict === 'in_progress').length
  const unavailable = heard.filter(({ status }) => status === 503).length
  if (tokens.length > 1) return `${tokens.length} execute`
  if (tokens.length + inProgress + unavailable !== heard.length)
    return `${heard.length} claims, ${tokens.length} execute, ${inProgress} wait, ${unavailable} get 503`
  if (tokens.length === 0 && unavailable === 0) return 'no claim executes'
  const stored = await tokenInStore(stage, scope)
  return tokens.length === 0 || stored === tokens[0]
    ? null
    : 'the record does not belong to the claim that executes'
}

async function tokenInStore({ query }: IdempotencyStage, scope: string): Promise<string> {
  const [row] = await query('select lock_token from idempotency_claims where scope_hash = $1', [
    Buffer.from(scope, 'hex'),
  ])
  return String(row?.lock_token ?? '')
}

function note(figures: Map<string, Figures>, name: string, heard: readonly Heard[]): void {
  const own = figures.get(name) ?? {
    rounds: 0,
    execute: 0,
    inProgress: 0,
    replay: 0,
    unavailable: 0,
    slowestMs: 0,
  }
  figures.set(name, own)
  own.rounds += 1
  for (const { status, body, ms } of heard) {
    if (body.verdict === 'execute') own.execute += 1
    else if (body.verdict === 'in_progress') own.inProgress += 1
    else if (body.verdict === 'replay') own.replay += 1
    else if (status === 503) own.unavailable += 1
    own.slowestMs = Math.max(own.slowestMs, ms)
  }
}

import { withBreaker } from '../http/breaker.ts'
import type { HttpCaller } from '../http/call.ts'
import type { ClaimBody, CompleteBody, HeldBody } from '../http/call-types.ts'
import { parseMembers } from '../http/json.ts'
import { fromBase64 } from '../runtime/bytes.ts'
import { type KeyrailError, passing } from '../runtime/errors.ts'
import type { StoredAnswer } from './stored-answer.ts'

/** The four calls of the service. Each returns a checked verdict, or rejects with a `KeyrailError`. */
export interface IdempotencyClient {
  claim(body: ClaimBody): Promise<Claim>
  complete(body: CompleteBody): Promise<'completed' | 'lost'>
  release(body: HeldBody): Promise<'released' | 'lost'>
  heartbeat(body: HeldBody): Promise<'extended' | 'lost'>
}

export type Claim =
  | { verdict: 'execute'; lockToken: string }
  | { verdict: 'in_progress'; retryAfterMs: number }
  | { verdict: 'replay'; answer: StoredAnswer }
  | { verdict: 'mismatch' }
  | { verdict: 'not_replayable' }

type Json = Readonly<Record<string, unknown>>

/** Enough for a stored answer of 6 MiB in base64, with its headers. */
const CLAIM_MAX_BYTES = 8 * 1024 * 1024
const VERDICT_MAX_BYTES = 16 * 1024

export function createIdempotencyClient(call: HttpCaller, timeoutMs: number): IdempotencyClient {
  // Customers wait for claims, so the breaker limits only these. The end of a claim is worth an attempt in any case.
  const callToClaim = withBreaker(call)
  const ask = async (name: string, body: object, maxBytes = VERDICT_MAX_BYTES): Promise<Json> => {
    const path = `/v1/idempotency/${name}`
    const send = name === 'claim' ? callToClaim : call
    const { text } = await send({ method: 'POST', path, body, accepts: [200], timeoutMs, maxBytes })
    const answer = parseMembers(text)
    if (answer.object !== `idempotency_${name}`) throw badAnswer('object')
    return answer
  }
  const askHeld = async <V extends string>(
    name: string,
    body: object,
    verdicts: readonly V[],
  ): Promise<V> => {
    const { verdict } = await ask(name, body)
    return verdicts.find(each => each === verdict) ?? throwBad('verdict')
  }
  return {
    claim: async body => readClaim(await ask('claim', body, CLAIM_MAX_BYTES)),
    complete: body => askHeld('complete', body, ['completed', 'lost']),
    release: body => askHeld('release', body, ['released', 'lost']),
    heartbeat: body => askHeld('heartbeat', body, ['extended', 'lost']),
  }
}

function readClaim({ verdict, lock_token, retry_after_ms, response }: Json): Claim {
  if (verdict === 'mismatch' || verdict === 'not_replayable') return { verdict }
  if (verdict === 'execute') {
    if (typeof lock_token !== 'string' || lock_token === '') throw badAnswer('lock_token')
    return { verdict, lockToken: lock_token }
  }
  if (verdict === 'in_progress') {
    if (typeof retry_after_ms !== 'number' || !(retry_after_ms >= 0)) throw badAnswer('retry_after_ms')
    return { verdict, retryAfterMs: retry_after_ms }
  }
  if (verdict === 'replay') return { verdict, answer: readAnswer(response) }
  throw badAnswer('verdict')
}

function readAnswer(value: unknown): StoredAnswer {
  const { status, headers, body } = (value ?? {}) as Json
  if (!Number.isInteger(status) || (status as number) < 100 || (status as number) > 599) {
    throw badAnswer('response.status')
  }
  if (typeof headers !== 'object' || headers === null) throw badAnswer('response.headers')
  const pairs = Object.entries(headers)
  if (!pairs.every(([, text]) => typeof text === 'string')) throw badAnswer('response.headers')
  if (typeof body !== 'string') throw badAnswer('response.body')
  return {
    status: status as number,
    headers: Object.fromEntries(pairs),
    body: fromBase64(body) ?? throwBad('response.body'),
  }
}

const badAnswer = (what: string): KeyrailError =>
  passing('bad_response', `The answer is not an idempotency verdict: ${what}`)

function throwBad(what: string): never {
  throw badAnswer(what)
}

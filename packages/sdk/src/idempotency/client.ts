import { type BoundedCaller, withBreaker } from '../http/breaker.ts'
import type { HttpCaller } from '../http/call.ts'
import type { ClaimBody, CompleteBody, HeldBody } from '../http/call-types.ts'
import { Gatherer, type GathererParts } from '../http/gatherer.ts'
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
/** Of lists of 100: a list has stored answers of at most 64 KiB, in base64. */
const CLAIMS_MAX_BYTES = 16 * 1024 * 1024
const VERDICTS_MAX_BYTES = 256 * 1024
/** A completion whose answer has more characters goes alone, and holds up no other. */
const LISTED_BODY_MAX = 16 * 1024

interface World extends Pick<GathererParts<Asked>, 'now' | 'later'> {
  readonly call: HttpCaller
  readonly timeoutMs: number
}

/** One of the four calls, by the last part of its path. */
interface Asked {
  readonly name: 'claim' | 'complete' | 'release' | 'heartbeat'
  readonly body: (ClaimBody | HeldBody) & Pick<Partial<CompleteBody>, 'body'>
}

/** Claims of one turn of the event loop are one call, and so are the ends of claims, except those with a large answer. */
export function createIdempotencyClient({ call, timeoutMs, ...world }: World): IdempotencyClient {
  // Customers wait for claims, so the breaker limits only these. The end of a claim is worth an attempt in any case.
  const callToClaim = withBreaker(call)
  const gather = (call: HttpCaller & Partial<BoundedCaller>, maxBytes: number, listMaxBytes: number) => {
    const send = async (path: string, body: unknown, maxBytes: number): Promise<string> => {
      const { text } = await call({ method: 'POST', path, body, accepts: [200], timeoutMs, maxBytes })
      return text
    }
    return new Gatherer<Asked>({
      ...world,
      ...(call.hangs && { hangs: call.hangs }),
      what: 'An idempotency call',
      askOne: ({ name, body }) => send(`/v1/idempotency/${name}`, body, maxBytes),
      askList: list => send('/v1/idempotency/claims', { calls: list.map(entryOf) }, listMaxBytes),
      listed: ['idempotency_calls', 'calls'],
      entryOf,
      goesAlone: ({ body }) => (body.body?.length ?? 0) > LISTED_BODY_MAX,
    })
  }
  const claims = gather(callToClaim, CLAIM_MAX_BYTES, CLAIMS_MAX_BYTES)
  const ends = gather(call, VERDICT_MAX_BYTES, VERDICTS_MAX_BYTES)
  const ask = async ({ name, body }: Asked): Promise<Json> => {
    const answer = await (name === 'claim' ? claims : ends).ask({ name, body })
    if (answer.object !== `idempotency_${name}`) throw badAnswer('object')
    return answer
  }
  const askHeld = async <V extends string>(asked: Asked, verdicts: readonly V[]): Promise<V> => {
    const { verdict } = await ask(asked)
    return verdicts.find(each => each === verdict) ?? throwBad('verdict')
  }
  return {
    async claim(body) {
      const answer = await ask({ name: 'claim', body })
      if (answer.verdict !== 'replay_alone') return readClaim(answer)
      return readClaim(await claims.askAlone({ name: 'claim', body }))
    },
    complete: body => askHeld({ name: 'complete', body }, ['completed', 'lost']),
    release: body => askHeld({ name: 'release', body }, ['released', 'lost']),
    heartbeat: body => askHeld({ name: 'heartbeat', body }, ['extended', 'lost']),
  }
}

const entryOf = ({ name, body }: Asked) => ({ [name]: body })

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

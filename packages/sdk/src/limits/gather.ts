import type { BoundedCaller } from '../http/breaker.ts'
import type { RateLimitCheck } from '../http/call-types.ts'
import { Gatherer, type GathererParts } from '../http/gatherer.ts'

const ANSWER_MAX_BYTES = 64 * 1024
const LIST_ANSWER_MAX_BYTES = 2 * 1024 * 1024

interface World
  extends Pick<GathererParts<RateLimitCheck>, 'now' | 'later' | 'onCall' | 'onSuccess' | 'onFailure'> {
  readonly call: BoundedCaller
  readonly timeoutMs: number
  /** Names this process, so that the service says how many nodes check limits. */
  readonly node?: string | undefined
}

/** Asks the service about the checks of one turn of the event loop with one call. */
export function gatherChecks({ call, timeoutMs, node, ...world }: World): Gatherer<RateLimitCheck> {
  const headers = node === undefined ? {} : { 'keyrail-node': node }
  const send = async (path: string, body: unknown, maxBytes: number): Promise<string> => {
    const { text } = await call({ method: 'POST', path, headers, body, accepts: [200], timeoutMs, maxBytes })
    return text
  }
  return new Gatherer({
    ...world,
    hangs: call.hangs,
    what: 'A rate-limit check',
    askOne: check => send('/v1/ratelimit/check', check, ANSWER_MAX_BYTES),
    askList: checks => send('/v1/ratelimit/checks', { checks }, LIST_ANSWER_MAX_BYTES),
    listed: ['ratelimit_checks', 'checks'],
    entryOf: check => check,
  })
}

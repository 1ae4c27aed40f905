import { refuseUnknown } from '../http/connection-options.ts'
import { readBoolean } from '../http/option-values.ts'
import type { Valid } from '../verify/verdict.ts'
import type { Idempotency, IdempotencyVerdict } from './idempotent.ts'
import { badKey, missingKey, unreadBody } from './problems.ts'

/** What a route may ask of its requests. */
export interface IdempotentOptions {
  /** Whether a request without `Idempotency-Key` is refused with 400; otherwise it is simply executed. */
  required?: boolean | undefined
}

const known: { readonly [Name in keyof Required<IdempotentOptions>]: true } = { required: true }

export const idempotencyHeader = 'idempotency-key'

/** Requests that were claimed, or are being claimed: whoever asks again for one of these would wait for himself. */
const claimed = new WeakSet<object>()

/** Doing one of the others twice does what doing it once does. */
const methods = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** @throws TypeError when what is handed over is not what it should be */
export function requireIdempotency(idempotency: Idempotency, options: IdempotentOptions = {}): void {
  refuseUnknown('idempotent', options, known)
  readBoolean('required', options.required ?? false)
  if (typeof idempotency?.claim !== 'function') {
    throw new TypeError('idempotency must be made by createIdempotency')
  }
}

/**
 * What to do with a request before its handler runs; undefined: just run it.
 *
 * @param exchange what stands for this request alone; one that was claimed before is not claimed again
 * @param idempotencyKeys every value of the header that was sent
 * @param readBody called where the request is to be claimed; undefined: nobody has read it
 */
export async function claimRequest(
  idempotency: Idempotency,
  {
    exchange,
    key,
    method,
    target,
    idempotencyKeys,
    readBody,
    required = false,
  }: {
    exchange: object
    key: Valid
    method: string
    target: string
    idempotencyKeys: readonly string[]
    readBody: () => Uint8Array | string | undefined | Promise<Uint8Array>
  } & IdempotentOptions,
): Promise<IdempotencyVerdict | undefined> {
  if (!methods.has(method.toUpperCase())) return undefined
  const [idempotencyKey, ...more] = idempotencyKeys
  if (idempotencyKey === undefined) {
    return required ? { verdict: 'refuse', problem: missingKey() } : undefined
  }
  if (claimed.has(exchange)) return undefined
  claimed.add(exchange)
  if (more.length > 0) return { verdict: 'refuse', problem: badKey() }
  const body = await readBody()
  if (body === undefined) return { verdict: 'refuse', problem: unreadBody() }
  return idempotency.claim({ key, idempotencyKey, method, target, body })
}

import { refuseUnknown } from '../http/connection-options.ts'
import { readBoolean } from '../http/option-values.ts'
import { type OfWhole, partOf } from '../runtime/part-of.ts'
import type { Valid } from '../verify/verdict.ts'
import type { Idempotency, IdempotencyVerdict } from './idempotent.ts'
import { badKey, largeBody, missingKey, refuse, unreadBody } from './problems.ts'

/** Options of `idempotent`. */
export interface IdempotentOptions {
  /** True: a request without `Idempotency-Key` is refused with 400. False, the default: it is executed. */
  required?: boolean | undefined
}

const known: { readonly [Name in keyof Required<IdempotentOptions>]: true } = { required: true }

/** The default of Fastify's parser, in bytes. */
export const REQUEST_MAX_BYTES = 1_048_576

/** In place of a body that has more bytes than may be read. */
export const tooLarge: unique symbol = Symbol('too large')

export const idempotencyHeader = 'idempotency-key'

/** The other methods are safe to repeat. */
const methods = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** Whether a request is to be executed once. That needs a key, because its tenant is part of the claim. */
export const asksForClaim = (method: string, hasIdempotencyKey: boolean, required = false): boolean =>
  methods.has(method.toUpperCase()) && (required || hasIdempotencyKey)

/** What `createIdempotency` returns, or a `Keyrail`. */
export type IdempotencyOf = OfWhole<'idempotency', Idempotency>

/** @throws TypeError naming a wrong argument */
export function requireIdempotency(given: IdempotencyOf, options: IdempotentOptions = {}): Idempotency {
  const idempotency = partOf(given, 'idempotency')
  refuseUnknown('idempotent', options, known)
  readBoolean('required', options.required ?? false)
  if (typeof idempotency?.claim !== 'function') {
    throw new TypeError('idempotency must be made by createIdempotency')
  }
  return idempotency
}

/**
 * What to do with a request before its handler runs; undefined: run the handler.
 *
 * @param exchange the same for every claim of the request. A second claim returns undefined: it would wait for the first one
 * @param idempotencyKeys all values of the header
 * @param readBody called if the request is to be claimed; returns undefined if no parser has read the body, or `tooLarge`
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
    exchange: { isClaimed: boolean }
    key: Valid
    method: string
    target: string
    idempotencyKeys: readonly string[]
    readBody: () => Uint8Array | string | undefined | Promise<Uint8Array | typeof tooLarge>
  } & IdempotentOptions,
): Promise<IdempotencyVerdict | undefined> {
  if (!methods.has(method.toUpperCase())) return undefined
  const [idempotencyKey, ...more] = idempotencyKeys
  if (idempotencyKey === undefined) return required ? refuse(missingKey()) : undefined
  if (exchange.isClaimed) return undefined
  exchange.isClaimed = true
  if (more.length > 0) return refuse(badKey())
  const body = await readBody()
  if (body === undefined) return refuse(unreadBody())
  if (body === tooLarge) return refuse(largeBody())
  return idempotency.claim({ key, idempotencyKey, method, target, body })
}

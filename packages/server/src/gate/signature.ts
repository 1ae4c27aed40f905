import type { IncomingMessage } from 'node:http'
import { headerValues } from '../platform/http/headers.ts'
import { unauthenticated } from './authenticate.ts'

/** The headers, in lower case, in which a sender names its key and signs the bytes of the body. */
export interface SignatureHeaders {
  readonly keyId: string
  readonly value: string
}

/** As it was sent: nobody has verified it yet. */
export interface Signature {
  readonly keyId: string
  readonly value: Buffer
}

/** Ids in use are SHA-256 in hex. An ECDSA signature of P-256 has 72 bytes at most. */
const keyIdForm = /^[\w.:-]{1,128}$/
const valueForm = /^[A-Za-z0-9+/]{1,254}={0,2}$/

/**
 * The signature of a request, before its body is read. One that is missing, given twice or malformed is refused as a
 * bad credential is.
 */
export function readSignature(request: IncomingMessage, headers: SignatureHeaders): Signature {
  const keyIds = headerValues(request, headers.keyId)
  const values = headerValues(request, headers.value)
  if (keyIds.length === 0 && values.length === 0) throw unauthenticated('Bearer')
  const [keyId = ''] = keyIds
  const [text = ''] = values
  const isWellFormed = keyIdForm.test(keyId) && valueForm.test(text)
  const value = Buffer.from(isWellFormed ? text : '', 'base64')
  // Whatever else would be read as the same bytes is not what a sender writes.
  if (keyIds.length !== 1 || values.length !== 1 || !isWellFormed || value.toString('base64') !== text) {
    throw unauthenticated()
  }
  return { keyId, value }
}

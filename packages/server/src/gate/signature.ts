import type { IncomingMessage } from 'node:http'
import { headerValues } from '../platform/http/headers.ts'
import { unauthenticated } from './authenticate.ts'

/** The headers, in lower case, in which a sender names its key and the signature of the body. */
export interface SignatureHeaders {
  readonly keyId: string
  readonly value: string
}

/** The signature as sent, not verified. */
export interface Signature {
  readonly keyId: string
  readonly value: Buffer
}

/** Ids in use are SHA-256 in hex. An ECDSA signature with P-256 has at most 72 bytes. */
const keyIdForm = /^[\w.:-]{1,128}$/
const valueForm = /^[A-Za-z0-9+/]{1,254}={0,2}$/

/**
 * The signature of a request, before its body is read. A missing, duplicated or malformed one is refused like a bad
 * credential.
 */
export function readSignature(request: IncomingMessage, headers: SignatureHeaders): Signature {
  const keyIds = headerValues(request, headers.keyId)
  const values = headerValues(request, headers.value)
  if (keyIds.length === 0 && values.length === 0) throw unauthenticated('Bearer')
  const [keyId = ''] = keyIds
  const [text = ''] = values
  const isWellFormed = keyIdForm.test(keyId) && valueForm.test(text)
  const value = Buffer.from(isWellFormed ? text : '', 'base64')
  // Reject other encodings of the same bytes, which no sender uses.
  if (keyIds.length !== 1 || values.length !== 1 || !isWellFormed || value.toString('base64') !== text) {
    throw unauthenticated()
  }
  return { keyId, value }
}

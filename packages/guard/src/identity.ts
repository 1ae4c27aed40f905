import type { Valid } from '@keyrail/sdk'

/**
 * The headers that tell an upstream whose request it is. Every answer has all of them, empty where there is nothing, so that a
 * proxy that copies them replaces whatever the client sent.
 */
export const identityOf = (key: Valid | undefined): Record<IdentityHeader, string> => ({
  'x-keyrail-tenant': key?.tenantId ?? '',
  'x-keyrail-external-id': inHeader(key?.externalId ?? ''),
  'x-keyrail-key': key?.keyId ?? '',
  'x-keyrail-scopes': key === undefined ? '' : key.scopes.map(inHeader).join(' '),
})

type IdentityHeader = 'x-keyrail-tenant' | 'x-keyrail-external-id' | 'x-keyrail-key' | 'x-keyrail-scopes'

/** Percent-encodes (UTF-8) what a header cannot hold, spaces and `%`, so that decoding returns the same text. */
const inHeader = (text: string): string =>
  safe.test(text) ? text : text.toWellFormed().replaceAll(/[^\x21-\x24\x26-\x7e]+/g, encodeURIComponent)

const safe = /^[\x21-\x24\x26-\x7e]*$/

export const nobody = Object.freeze(identityOf(undefined))

/** JSON as a header can carry it, for proxies that pass on no body of a refusal. */
export const jsonInHeader = (body: object): string =>
  JSON.stringify(body).replaceAll(
    /[^\x20-\x7e]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

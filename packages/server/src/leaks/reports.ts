import { type LeakPlace, leakSourceMax, leakUrlMax } from '@keyrail/contract/leaks'
import { displayPrefix, isWellFormedToken, tokenDigest, tokensIn } from '../platform/crypto/token.ts'
import { invalidField } from '../platform/refusal.ts'

/** The report of one token. */
export interface Report {
  readonly token: string
  /** SHA-256 of the token. */
  readonly digest: Buffer
  /** As sent, of any length, but well-formed: it is only returned to the sender. */
  readonly type: string
  /** Null when the token does not have the format of a credential, so that it is not looked up. */
  readonly place: LeakPlace | null
}

/**
 * Reads the reports of a signed body in order. An entry without a token is skipped. An odd value only affects its own entry,
 * because the other keys of the report have leaked too.
 * @throws {Refusal} `validation_failed` when the body is not an array.
 */
export function readReports(entries: unknown): Report[] {
  if (!Array.isArray(entries)) throw invalidField('body', 'must be an array')
  return entries.flatMap(entry => readReport(entry) ?? [])
}

function readReport(entry: unknown): Report | null {
  if (typeof entry !== 'object' || entry === null) return null
  const { token, type, url, source } = entry as Record<string, unknown>
  if (typeof token !== 'string') return null
  return {
    token,
    digest: tokenDigest(token),
    type: typeof type === 'string' ? storable(type) : '',
    place: isWellFormedToken(token)
      ? { url: kept(url, token, leakUrlMax), source: kept(source, token, leakSourceMax) }
      : null,
  }
}

/** External text for the audit log: limited, and without a token of any entry. */
function kept(text: unknown, token: string, most: number): string | null {
  if (typeof text !== 'string' || text === '') return null
  // Text is sanitised before tokens are searched, so that a removed character cannot form a token.
  const bare = storable(text).replaceAll(token, displayed(token)).replace(tokensIn, displayed)
  return [...bare.slice(0, 2 * most)].slice(0, most).join('').toWellFormed()
}

/** Postgres takes neither NUL nor half a surrogate pair. */
const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\uFFFD')

const displayed = (token: string) => `${displayPrefix(token)}…`

import { type LeakPlace, leakSourceMax, leakUrlMax } from '@keyrail/contract/webhook'
import { displayPrefix, isWellFormedToken, tokenDigest, tokensIn } from '../platform/crypto/token.ts'
import { invalidField } from '../platform/refusal.ts'

/** What is reported of one token. */
export interface Report {
  readonly token: string
  /** SHA-256 of the token. */
  readonly digest: Buffer
  /** As the sender has it, of whatever length, but well-formed: it goes back to the sender, and nowhere else. */
  readonly type: string
  /** Null where the token has not the form of a credential: nobody is asked about it. */
  readonly place: LeakPlace | null
}

/**
 * What a signed body reports, in their order. An entry without a token is passed over. Whatever is odd in an entry
 * concerns that entry alone: a key that stands beside it has leaked all the same.
 * @throws {Refusal} `validation_failed` for what is no array.
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

/** Text from outside that will stand in the audit log: no token in it, of this entry or of another, and bounded. */
function kept(text: unknown, token: string, most: number): string | null {
  if (typeof text !== 'string' || text === '') return null
  // Before tokens are looked for, so that none comes about by it.
  const bare = storable(text).replaceAll(token, displayed(token)).replace(tokensIn, displayed)
  return [...bare.slice(0, 2 * most)].slice(0, most).join('').toWellFormed()
}

/** Postgres takes neither NUL nor half a surrogate pair. */
const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\uFFFD')

const displayed = (token: string) => `${displayPrefix(token)}…`

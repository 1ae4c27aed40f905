import { isWellFormedToken } from '../crypto/token.ts'
import { isUuid } from '../http/validate.ts'
import { invalidField } from '../refusal.ts'

/** How many characters a search compares; the folded columns of the store hold as many. */
const prefixLengthMax = 64

/** The folded texts that begin with a prefix: from `first` to `last`, in the order of code points. */
export interface PrefixRange {
  readonly first: string
  readonly last: string
}

/** Only A to Z, as Postgres folds in the collation C, whatever its locale. */
const fold = (text: string) => text.replace(/[A-Z]+/g, letters => letters.toLowerCase())

export function prefixRange(prefix: string): PrefixRange {
  const first = fold(prefix)
  return { first, last: first + '\u{10ffff}'.repeat(prefixLengthMax) }
}

/** What the parameter `q` of a list can find. */
export interface Search {
  /** A whole id, in lower case; null when the text is no id. */
  readonly id: string | null
  readonly range: PrefixRange
}

/** @throws {Refusal} `validation_failed` for a whole credential, which a proxy may have logged with the URL. */
export function readSearch(q: string): Search {
  if (isWellFormedToken(q))
    throw invalidField('q', 'must not be a credential, which does not belong in a URL')
  return { id: isUuid(q) ? q.toLowerCase() : null, range: prefixRange(q) }
}

/** Divides a name into words as the store's function `later_words` does. */
const separators = /[\t !-/:-@[-`{-~\u00a0\u2013\u2014\u00b7]/
const laterWordsMax = 8

/** The words of a name behind its beginning that a search finds, in their order. */
export const laterWords = (name: string): string[] =>
  fold(name)
    .split(separators)
    .slice(1)
    .filter(word => word !== '')
    .slice(0, laterWordsMax)

/** A row has a name, of which every word is searched, and perhaps another text, of which the beginning is searched. */
export interface Searchable {
  readonly id: string
  readonly name: string | null
  readonly other?: string
}

/** Whether a search finds a row. */
export const isFoundBy = (search: Search, { id, name, other }: Searchable): boolean => {
  const texts = name === null ? [] : [fold(name), ...laterWords(name)]
  if (other !== undefined) texts.push(fold(other))
  return id === search.id || texts.some(text => text.startsWith(search.range.first))
}

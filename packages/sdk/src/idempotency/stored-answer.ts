import { isOfExchange, varyOfAnswer } from './exchange-headers.ts'

/** An answer of the vendor's API, kept for repetitions of its request. */
export interface StoredAnswer {
  status: number
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/** Headers as frameworks hold them: names in any case, several values for one name. */
export type AnswerHeaders = Iterable<
  readonly [name: string, value: string | number | readonly string[] | undefined]
>

/** As base64 it has 6,291,456 characters. */
export const BODY_MAX_BYTES = 4_718_592
const NAME_MAX = 128
const VALUE_MAX = 4_096

/** The headers for a repetition; undefined if one of them cannot be kept. */
export function storedHeaders(headers: AnswerHeaders): Record<string, string> | undefined {
  const kept: Record<string, string> = {}
  for (const [given, values] of headers) {
    const name = given.toLowerCase()
    if (values === undefined || isOfExchange(name)) continue
    const text = Array.isArray(values) ? values.join(', ') : String(values)
    const value = name === 'vary' ? varyOfAnswer(text) : text
    if (name === 'vary' && value === '') continue
    // The service rejects longer ones, and an answer without one of its headers would be a different one.
    if (name.length > NAME_MAX || value.length > VALUE_MAX) return undefined
    kept[name] = value
  }
  return kept
}

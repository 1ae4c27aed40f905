/** An answer of a vendor's API, as it is kept for requests that repeat it. */
export interface StoredAnswer {
  status: number
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/** As frameworks tell them: names in any case, several values of one. */
export type AnswerHeaders = Iterable<
  readonly [name: string, value: string | number | readonly string[] | undefined]
>

/** 6,291,456 characters of base64. */
export const BODY_MAX_BYTES = 4_718_592
const NAME_MAX = 128
const VALUE_MAX = 4_096

/**
 * What belongs to one exchange and not to the answer: how it was framed, when it was sent, what was left of limits,
 * and cookies, which were for one browser.
 */
const ofOneExchange = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-connection',
  'ratelimit',
  'ratelimit-policy',
  'set-cookie',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
])

/** The headers that a repetition is to be answered with; undefined where one of them cannot be kept. */
export function storedHeaders(headers: AnswerHeaders): Record<string, string> | undefined {
  const kept: Record<string, string> = {}
  for (const [given, values] of headers) {
    const name = given.toLowerCase()
    if (values === undefined || ofOneExchange.has(name)) continue
    const value = Array.isArray(values) ? values.join(', ') : String(values)
    // The service refuses an answer with one that is longer, and what is left out would be missed.
    if (name.length > NAME_MAX || value.length > VALUE_MAX) return undefined
    kept[name] = value
  }
  return kept
}

import type { AnswerHeaders } from './stored-answer.ts'

/**
 * Headers of one exchange, which a replay must not bring back: they say something about a connection, a moment, a browser, a
 * page or a trace. The same table holds for all frameworks.
 */
const names = new Set([
  // The connection, and how the bytes travel on it.
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // The moment.
  'age',
  'date',
  'server-timing',
  // One browser.
  'set-cookie',
  'set-cookie2',
  // The trace.
  'correlation-id',
  'request-id',
  'traceparent',
  'tracestate',
  'traceresponse',
  'x-amz-request-id',
  'x-amzn-requestid',
  'x-amzn-trace-id',
  'x-cloud-trace-context',
  'x-correlation-id',
  'x-request-id',
  'x-trace-id',
])

/** The page that asks, what its key has left, and the trace in the form of Zipkin. */
const beginnings = ['access-control-', 'ratelimit', 'x-ratelimit-', 'x-rate-limit-', 'x-b3-']

/** @param name in lower case */
export const isOfExchange = (name: string): boolean =>
  names.has(name) || beginnings.some(beginning => name.startsWith(beginning))

const textOf = (value: string | number | readonly string[]): string =>
  Array.isArray(value) ? value.join(', ') : String(value)

/** Copies headers, because a framework may change its values in place. */
export const copyHeaders = (headers: AnswerHeaders): ReadonlyMap<string, string> =>
  new Map(
    [...headers].flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), textOf(value)] as const],
    ),
  )

/**
 * The headers that were set or changed behind a claim. Those before it are set again by the same middleware at a repetition, as
 * they are then.
 */
export const headersBehind = (before: ReadonlyMap<string, string>, after: AnswerHeaders) =>
  [...after].filter(
    ([name, value]) => value === undefined || before.get(name.toLowerCase()) !== textOf(value),
  )

const partsOf = (list: string): string[] =>
  list
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')

/** A `Vary` without `Origin`, which belongs to the page that asks; empty if nothing is left. */
export const varyOfAnswer = (vary: string): string =>
  partsOf(vary)
    .filter(part => part.toLowerCase() !== 'origin')
    .join(', ')

/**
 * The headers of a replay: those that were kept, beside those that the present exchange has.
 *
 * @param present the `Vary` that is set already
 */
export function headersToReplay(
  kept: Readonly<Record<string, string>>,
  present: unknown,
): Record<string, string> {
  const { vary, ...headers } = kept
  if (vary === undefined) return headers
  const now = partsOf(Array.isArray(present) ? present.join(', ') : String(present ?? ''))
  const had = new Set(now.map(part => part.toLowerCase()))
  const added = partsOf(vary).filter(part => !had.has(part.toLowerCase()))
  return { ...headers, vary: [...now, ...added].join(', ') }
}

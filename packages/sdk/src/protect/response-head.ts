import type { OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'

/** The arguments of `writeHead`. */
export type HeadGiven = [
  status: number,
  ...more: (string | OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined)[],
]

/** @throws RangeError where the caller makes the mistake, as Node does */
export function checkStatus(status: number): number {
  if (status >= 100 && status <= 999) return Math.trunc(status)
  throw Object.assign(new RangeError(`Invalid status code: ${status}`), {
    code: 'ERR_HTTP_INVALID_STATUS_CODE',
  })
}

/** The error that Node throws after the head was sent. */
export const headSent = (change: string): Error =>
  Object.assign(new Error(`Cannot ${change} headers after they are sent to the client`), {
    code: 'ERR_HTTP_HEADERS_SENT',
  })

interface Header {
  name: string
  value: OutgoingHttpHeader
}

/** Reads every form that `writeHead` takes: an object, pairs, or names and values in turn. Joins repeated names. */
export function headersIn(headers: unknown): Iterable<Header> {
  const found = new Map<string, Header>()
  for (const [name, value] of pairsIn(headers)) {
    if (value === undefined) continue
    const before = found.get(name.toLowerCase())
    const both = before === undefined ? value : [before.value, value].flat().map(String)
    found.set(name.toLowerCase(), { name, value: both })
  }
  return found.values()
}

function* pairsIn(headers: unknown): Generator<[string, OutgoingHttpHeader | undefined]> {
  if (typeof headers !== 'object' || headers === null) return
  if (!Array.isArray(headers)) yield* Object.entries(headers as OutgoingHttpHeaders)
  else if (Array.isArray(headers[0])) yield* headers as [string, OutgoingHttpHeader][]
  else for (let at = 0; at + 1 < headers.length; at += 2) yield [String(headers[at]), headers[at + 1]]
}

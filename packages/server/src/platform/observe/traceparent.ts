/** What a caller says about the trace that its request belongs to, by W3C Trace Context. It proves nothing. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const zeros = /^0+$/

/** Null where the header is missing or malformed. A later version may have more fields behind these. */
export function readTraceParent(header: unknown): TraceParent | null {
  if (typeof header !== 'string' || header.length > 512) return null
  const [, version, traceId = '', spanId = '', flags = '', rest] = form.exec(header) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  if (zeros.test(traceId) || zeros.test(spanId)) return null
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Attributes,
  Context,
  ProxyTracerProvider,
  Span,
  SpanKind,
  Tracer,
  TracerProvider,
} from '@opentelemetry/api'
import type { Logger } from './log.ts'
import type { TraceParent } from './traceparent.ts'

/**
 * Spans of OpenTelemetry, if the operator loads its SDK (docs/operations.md). Without the SDK, work runs as if this file did
 * not exist, and the API is not loaded. Like the API itself, the tracer is one for the process.
 */
let open: { api: typeof import('@opentelemetry/api'); tracer: Tracer } | null = null

/** Attributes of a span that waits for the database. */
export const postgres: Attributes = { 'db.system.name': 'postgresql' }

/** Begins to trace. Call it if the environment configures OpenTelemetry. */
export async function openTracing(version: string, log: Pick<Logger, 'warn'>): Promise<void> {
  const api = await import('@opentelemetry/api')
  const provider = api.trace.getTracerProvider()
  const hasSdk = !isProxy(provider) || provider.getDelegateTracer('keyrail') !== undefined
  if (!hasSdk) return log.warn('OTEL_… is set, but no SDK of OpenTelemetry is loaded, so nothing is traced')
  open = { api, tracer: api.trace.getTracer('keyrail', version) }
}

/** Recognised by its form: the SDK may have another copy of the API, with other classes. */
const isProxy = (provider: TracerProvider): provider is ProxyTracerProvider => 'getDelegateTracer' in provider

/** How long the close of the service waits for the SDK to send its last spans. */
const flushMs = 2_000

/** Lets the SDK send what it has collected. It never fails. */
export async function flushTracing(): Promise<void> {
  if (open === null) return
  const provider = open.api.trace.getTracerProvider()
  const sdk = (isProxy(provider) ? provider.getDelegate() : provider) as { forceFlush?(): Promise<void> }
  await Promise.race([sdk.forceFlush?.().catch(() => {}), sleep(flushMs, undefined, { ref: false })])
}

/** Runs work in a span below the current one. An error of the work is marked without its message, which may quote values. */
export function span<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  if (open === null) return work()
  const { api, tracer } = open
  return tracer.startActiveSpan(name, { kind: api.SpanKind.CLIENT, attributes }, own => finish(own, work))
}

/** As `span`, for work that no request waits for. */
export function rootSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  if (open === null) return work()
  const { api, tracer } = open
  const options = { kind: api.SpanKind.CONSUMER, root: true, attributes }
  return tracer.startActiveSpan(name, options, own => finish(own, work))
}

async function finish<T>(own: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    markFailed(own, (error as Error | null)?.name)
    throw error
  } finally {
    own.end()
  }
}

function markFailed(own: Span, type = 'unknown'): void {
  own.setAttribute('error.type', type)
  own.setStatus({ code: 2 satisfies import('@opentelemetry/api').SpanStatusCode.ERROR })
}

/** The span of a request, and the context in which it is handled. */
export interface RequestSpan {
  readonly traceId: string
  /** Runs a part of the request in the span. */
  run(part: () => void): void
  end(status: number): void
}

/** Null: nothing is traced. @param parent the caller's span. */
export function requestSpan(method: string, route: string, parent: TraceParent | null): RequestSpan | null {
  if (open === null) return null
  const { api, tracer } = open
  let outer: Context = api.ROOT_CONTEXT
  if (parent !== null) {
    const { traceId, spanId, isSampled } = parent
    const traceFlags = isSampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE
    outer = api.trace.setSpanContext(outer, { traceId, spanId, traceFlags, isRemote: true })
  }
  const attributes = { 'http.request.method': method, 'http.route': route }
  const kind: SpanKind = api.SpanKind.SERVER
  const own = tracer.startSpan(`${method} ${route}`, { kind, attributes }, outer)
  const inner = api.trace.setSpan(outer, own)
  return {
    traceId: own.spanContext().traceId,
    run: part => api.context.with(inner, part),
    end(status) {
      own.setAttribute('http.response.status_code', status)
      if (status >= 500) markFailed(own, String(status))
      own.end()
    },
  }
}

/** Headers that pass the current trace on to another server; none without a trace. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {}
  open?.api.propagation.inject(open.api.context.active(), headers)
  return headers
}

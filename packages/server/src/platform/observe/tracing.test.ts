import assert from 'node:assert/strict'
import { test } from 'node:test'
import { context, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { startHarness } from '../../../test/harness.ts'
import { setStage } from '../../../test/mail-stage.ts'
import { until } from '../../../test/until.ts'
import { makeVendor } from '../../../test/vendor.ts'

/** As `node --import` loads an SDK before the service. */
const exporter = new InMemorySpanExporter()
const loadSdk = () => {
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  )
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
}

test('without an SDK the service warns once and traces nothing', async () => {
  const { logged, ask } = await startHarness({ isTraced: true })
  assert.equal((await ask('GET', '/.well-known/jwks.json')).status, 200)
  const lines = logged.map(line => JSON.parse(line))
  assert.equal(lines.filter(({ level, msg }) => level === 'warn' && msg.includes('OTEL_')).length, 1)
  assert.equal(lines.find(({ route }) => route === '/.well-known/jwks.json')?.trace_id, undefined)
})

test('a request is a span below the caller’s, above its lanes and its transaction', async () => {
  loadSdk()
  const harness = await startHarness({ isTraced: true })
  const vendor = await makeVendor(harness)
  exporter.reset()
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const { status } = await harness.ask('POST', '/v1/tenants', {
    token: vendor.live,
    body: { external_id: 'org-traced' },
    headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
  })
  assert.equal(status, 201)
  const spans = exporter.getFinishedSpans().filter(span => span.spanContext().traceId === traceId)
  const request = spans.find(({ kind }) => kind === SpanKind.SERVER)
  assert.deepEqual(
    [request?.name, request?.parentSpanContext?.spanId, request?.attributes],
    [
      'POST /v1/tenants',
      '00f067aa0ba902b7',
      { 'http.request.method': 'POST', 'http.route': '/v1/tenants', 'http.response.status_code': 201 },
    ],
  )
  const below = spans.filter(span => span.parentSpanContext?.spanId === request?.spanContext().spanId)
  for (const name of ['lane credential', 'transaction'])
    assert.ok(
      below.some(span => span.name === name),
      name,
    )
  const text = JSON.stringify(spans.map(({ name, attributes, status }) => [name, attributes, status]))
  for (const secret of [vendor.live, 'org-traced', vendor.workspaceId]) assert.ok(!text.includes(secret))
})

test('a request without a trace begins one, and its log line has it', async () => {
  const { ask, logged } = await startHarness({ isTraced: true })
  exporter.reset()
  await ask('GET', '/.well-known/jwks.json')
  const [request] = exporter.getFinishedSpans()
  const line = logged.map(text => JSON.parse(text)).find(({ route }) => route === '/.well-known/jwks.json')
  assert.equal(line.trace_id, request?.spanContext().traceId)
  assert.equal(line.parent_span_id, undefined)
})

test('sending a mail is a trace by itself', async () => {
  const { queue, open } = await setStage()
  exporter.reset()
  // No server listens there.
  open('smtp://127.0.0.1:1')
  await queue()
  const mails = () => exporter.getFinishedSpans().filter(({ name }) => name === 'mail reset')
  await until(() => mails().length > 0)
  assert.deepEqual(
    [mails()[0]?.parentSpanContext, mails()[0]?.attributes['keyrail.mail.attempt'], mails()[0]?.status.code],
    [undefined, 1, 2],
  )
})

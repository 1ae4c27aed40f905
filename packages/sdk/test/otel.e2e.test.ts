import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { context, metrics, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import express, { type Express } from 'express'
import { makeVendor } from '../../server/test/vendor.ts'
import { idempotent } from '../src/express.ts'
import { scopeHashOf } from '../src/idempotency/fingerprint.ts'
import { createIdempotency } from '../src/idempotency/idempotent.ts'
import { createKeyring, type Keyring } from '../src/keyring/keyring.ts'
import { createLimiter, type Limiter } from '../src/limits/limit.ts'
import { type InstrumentOptions, instrument } from '../src/otel.ts'
import { createUsageReporter, type UsageReporter } from '../src/usage/reporter.ts'
import { listen } from './fetch-server.ts'
import { startKeyrail } from './service.ts'

const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 })
const traced = new InMemorySpanExporter()
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: traced })] }),
)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
after(() => reader.shutdown())

const { service, settings, patient, connection, issue, openKeyring, vendor } = await startKeyrail()
const { key, id: keyId } = await issue({
  rate_limits: [{ id: 'month', limit: 3, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }],
})
const keyring = await openKeyring()
const limiter = createLimiter(patient)
const idempotency = createIdempotency(patient)
// The test decides when it exports.
const usage = createUsageReporter({ ...connection, flushIntervalMs: 3_600_000 })

const root = join(import.meta.dirname, '..', '..', '..')
const page = readFileSync(join(root, 'docs', 'sdk', 'deployment.md'), 'utf8').split(
  '## Metrics and traces\n',
)[1]

/** The code of the page, unchanged. */
async function protectByPage(api: Express): Promise<void> {
  const [, lines = ''] = /```ts\n([\s\S]*?)```/.exec(page ?? '') ?? []
  const [imports = '', code = ''] = lines.split('\n\n')
  // Below the packages that it imports.
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'keyrail-otel-'))
  const file = join(folder, 'protect.mjs')
  writeFileSync(file, `${imports}\nexport function protect({ api, keyrail }) {\n${code}}`)
  const keyrail: { keys: Keyring; limiter: Limiter; usage: UsageReporter } = { keys: keyring, limiter, usage }
  try {
    const { protect } = await import(file)
    protect({ api, keyrail })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const api = express()
await protectByPage(api)
api.use(express.json(), idempotent(idempotency))
api.post('/payments', (_, response) => void response.status(201).json({ id: 1 }))
const url = await listen(createServer(api))

const pay = async (presented?: string, sent = '{}') => {
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'order-1', connection: 'close' }
  const authorization = presented === undefined ? {} : { authorization: `Bearer ${presented}` }
  const init = { method: 'POST', body: sent, headers: { ...headers, ...authorization } }
  const answer = await fetch(`${url}/payments`, init)
  return await answer.text().then(() => answer.status)
}

/** Data points by metric name. */
async function points(scope = '@keyrail/sdk') {
  measured.reset()
  await reader.forceFlush()
  const recorded = measured
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.filter(each => each.scope.name === scope))
    .flatMap(each => each.metrics)
  return new Map(recorded.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]))
}
const spans = () => traced.getFinishedSpans()

test('verdicts, calls and the lag are recorded as the page says', async () => {
  const statuses = [await pay(key), await pay(key), await pay(key, '[]'), await pay(key), await pay()]
  assert.deepEqual(statuses, [201, 201, 422, 429, 401])
  await usage.close()
  const recorded = await points()
  const verdicts = recorded
    .get('keyrail.verdicts')
    ?.map(({ attributes, value }) => [attributes['keyrail.code'], attributes['keyrail.passed'], value])
  assert.deepEqual(verdicts, [
    ['valid', true, 3],
    ['rate_limited', false, 1],
    ['missing_key', false, 1],
  ])
  const whose = { 'keyrail.project': settings.project, 'keyrail.env': 'live' }
  const later = recorded.get('keyrail.later_refusals')?.map(({ attributes, value }) => [attributes, value])
  assert.deepEqual(later, [[{ ...whose, 'keyrail.code': 'idempotency_key_reused' }, 1]])
  const [lag, ...more] = recorded.get('keyrail.feed.lag') ?? []
  assert.ok(typeof lag?.value === 'number' && lag.value >= 0 && more.length === 0)
  assert.deepEqual(lag.attributes, whose)
  const calls = new Map(
    recorded
      .get('keyrail.call.duration')
      ?.map(({ attributes, value }) => [
        attributes['keyrail.call'],
        [attributes['http.response.status_code'], (value as { count: number }).count],
      ]),
  )
  for (const [call, status, count] of [
    ['ratelimit.check', 200, 4],
    ['idempotency.claim', 200, 3],
    ['idempotency.complete', 200, 1],
    ['usage.reports', 202, 1],
  ] as const) {
    assert.deepEqual(calls.get(call), [status, count], call)
    assert.equal(spans().filter(({ name }) => name === `keyrail.${call}`).length, count, call)
  }
  const claim = spans().find(({ name }) => name === 'keyrail.idempotency.claim') ?? assert.fail('no span')
  const attributes = { 'keyrail.call': 'idempotency.claim', 'http.response.status_code': 200 }
  assert.deepEqual([claim.kind, claim.attributes], [SpanKind.CLIENT, attributes])
  const names = Array.from(page?.matchAll(/^\| `([\w.<>]+)`/gm) ?? [], ([, name = '']) => name)
  assert.deepEqual(names.toSorted(), ['keyrail.<call>', ...recorded.keys()].toSorted())
})

test('no telemetry names a key, a tenant, a request or a secret', async () => {
  const recorded = JSON.stringify([
    [...(await points())],
    spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
  ])
  assert.ok(recorded.includes('idempotency.complete'))
  const hash = scopeHashOf(settings.project, vendor.tenantId, 'order-1')
  const random = key.slice(8, 40)
  for (const secret of [random, keyId, vendor.tenantId, hash, 'order-1', settings.secretKey])
    assert.ok(!recorded.includes(secret), secret)
})

test('a failed call records its error code, and the status if the service answered', async () => {
  traced.reset()
  const quiet = { ...settings, onError: () => {} }
  const limited = keyring.verify(key)
  assert.ok(limited.valid)
  const away = createLimiter({ ...quiet, fetch: () => Promise.reject(new Error('away')) })
  const tracer = trace.getTracer('test')
  const outer = await tracer.startActiveSpan('request', async span => {
    assert.equal((await away.limit(limited)).code, 'limits_unavailable')
    span.end()
    return span
  })
  const refused = async () => Response.json({ code: 'unauthenticated' }, { status: 401 })
  await createLimiter({ ...quiet, fetch: refused }).limit(limited)
  const failed = spans().filter(({ name }) => name === 'keyrail.ratelimit.check')
  assert.deepEqual(
    failed.map(({ attributes, status }) => [attributes, status]),
    [
      [{ 'keyrail.call': 'ratelimit.check', 'error.type': 'network_error' }, { code: SpanStatusCode.ERROR }],
      [
        {
          'keyrail.call': 'ratelimit.check',
          'http.response.status_code': 401,
          'error.type': 'unauthenticated',
        },
        { code: SpanStatusCode.ERROR },
      ],
    ],
  )
  assert.equal(failed[0]?.parentSpanContext?.spanId, outer.spanContext().spanId)
})

test('a keyring never confirmed records no lag, and polls are not traced', async () => {
  traced.reset()
  const stats = { ...keyring.stats(), confirmedAgeMs: null }
  instrument({ keyring: { stats: () => stats }, meter: metrics.getMeter('another') })
  assert.equal((await points('another')).get('keyrail.feed.lag'), undefined)
  await using other = await openKeyring()
  assert.ok(other.stats().serving)
  assert.deepEqual(spans(), [])
})

/** The recorded lags with their projects. */
const lags = async (scope: string) =>
  ((await points(scope)).get('keyrail.feed.lag') ?? []).map(({ attributes, value }) => ({
    project: attributes['keyrail.project'],
    value,
  }))

test('two keyrings in one process each record their lag until stopped', async () => {
  const own = await makeVendor(service)
  const theirs = { ...settings, secretKey: own.live, project: own.projectId, cachedTtlMs: 10_000 }
  await using other = createKeyring(theirs)
  await other.ready()
  let asked = 0
  const watched = {
    stats() {
      asked++
      return other.stats()
    },
  }
  const meter = metrics.getMeter('two')
  const [first, second] = [instrument({ keyring, meter }), instrument({ keyring: watched, meter })]
  const recorded = await lags('two')
  assert.deepEqual(
    recorded.map(({ project }) => project).toSorted(),
    [settings.project, own.projectId].toSorted(),
  )
  assert.ok(recorded.every(({ value }) => typeof value === 'number' && value >= 0))
  second.stop()
  second.stop()
  asked = 0
  await lags('two')
  assert.equal(asked, 0, 'a stopped keyring is not read')
  first.stop()
})

test('two keyrings of one project differ by name, and cause a warning without one', async () => {
  const meter = metrics.getMeter('named')
  const named = ['eu', 'us'].map(name => instrument({ keyring, name, meter }))
  for (const { onVerdict } of named) onVerdict({ passed: true, code: 'valid' })
  const recorded = await points('named')
  for (const metric of ['keyrail.feed.lag', 'keyrail.verdicts']) {
    const names = recorded.get(metric)?.map(({ attributes }) => attributes['keyrail.keyring'])
    assert.deepEqual(names, ['eu', 'us'], metric)
  }
  const warned = once(process, 'warning')
  const alike = [instrument({ keyring, meter }), instrument({ keyring, meter })]
  const [{ message }] = await warned
  assert.equal(message, 'instrument was called for two keyrings of one project: give each a name')
  for (const each of [...named, ...alike]) each.stop()
})

test('after stop nothing is recorded, and an earlier instrument continues', async () => {
  const limited = keyring.verify(key)
  assert.ok(limited.valid)
  const quiet = createLimiter({ ...settings, onError() {}, fetch: () => Promise.reject(new Error('away')) })
  const recorded = async (scope: string) => {
    const seen = await points(scope)
    const calls = seen.get('keyrail.call.duration')?.map(({ value }) => (value as { count: number }).count)
    return [calls?.[0] ?? 0, seen.get('keyrail.verdicts')?.[0]?.value ?? 0]
  }
  const parts = ['before', 'after'].map(name => instrument({ meter: metrics.getMeter(name) }))
  const [before, later] = parts
  const act = async () => {
    await quiet.limit(limited)
    for (const { onVerdict } of parts) onVerdict({ passed: true, code: 'valid' })
  }
  await act()
  assert.deepEqual(
    [await recorded('before'), await recorded('after')],
    [
      [0, 1],
      [1, 1],
    ],
  )
  later?.stop()
  later?.stop()
  await act()
  assert.deepEqual(
    [await recorded('before'), await recorded('after')],
    [
      [1, 2],
      [1, 1],
    ],
  )
  before?.stop()
  await act()
  assert.deepEqual(
    [await recorded('before'), await recorded('after')],
    [
      [1, 2],
      [1, 1],
    ],
  )
})

test('a mistake in the options is an error that names it', () => {
  for (const [options, what] of [
    [{ keyrings: [] }, 'instrument has no option "keyrings": it is called "keyring"'],
    [{ keyring: null }, 'keyring must be made by createKeyring'],
    [{ name: '' }, 'name must be a string that is not empty'],
    [{ keyring: {} }, 'keyring must be made by createKeyring'],
  ] as const)
    assert.throws(() => instrument(options as unknown as InstrumentOptions), new TypeError(what))
})

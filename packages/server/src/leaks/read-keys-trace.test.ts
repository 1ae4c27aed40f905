import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { startHarness } from '../../test/harness.ts'
import { requestSpan } from '../platform/observe/tracing.ts'
import { readKeysFrom } from './read-keys.ts'

/** As an SDK does, in a simple form. */
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [] }))
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator({
  fields: () => ['traceparent'],
  extract: given => given,
  inject: (given, carrier, setter) =>
    setter.set(carrier, 'traceparent', trace.getSpanContext(given)?.traceId ?? ''),
})

test('the trace of a request is passed on to the server that is asked for keys', async () => {
  const heard: unknown[] = []
  const server = createServer(({ headers }, response) => {
    heard.push(headers.traceparent)
    response.end('{}')
  }).listen(0, '127.0.0.1')
  after(() => void server.close())
  await once(server, 'listening')
  const codehostKeysUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const read = readKeysFrom({ codehostKeysFile: null, codehostKeysUrl })
  await startHarness({ isTraced: true })

  await read()
  const span = requestSpan('POST', '/v1/webhooks/codehost/secret_scanning', null)
  assert.ok(span)
  await new Promise((resolve, reject) => span.run(() => void read().then(resolve, reject)))
  assert.deepEqual(heard, ['', span.traceId])
})

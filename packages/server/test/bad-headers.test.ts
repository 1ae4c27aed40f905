import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { startHarness } from './harness.ts'
import { nameOf, sampleOf } from './samples.ts'
import { sendBytes } from './send-bytes.ts'
import { makeVendor } from './vendor.ts'
import { openWire } from './wire.ts'

/** Content types, encodings and the `Idempotency-Key`, on every route that reads them. */
const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)
const wire = await openWire(harness)
const bodied = routes.filter(({ body }) => body !== null)

const taken = [
  'application/json',
  'Application/JSON',
  'application/json;charset=utf-8',
  'application/json; charset=UTF-8',
  'application/json ; charset="utf-8"',
]
const odd = [
  'text/plain',
  'text/json',
  'application/jsonx',
  'application/json-patch+json',
  'application/problem+json',
  'application/json garbage',
  'application/json;',
  'application/json; charset=latin1',
  'application/json; charset="utf-8',
  'application/json; charset=utf-8; charset=latin1',
  'application/json; version=1',
  'application/json, text/plain',
  'application/json, application/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'json',
  '*/*',
  '/',
]

for (const route of bodied) {
  test(`${nameOf(route)} accepts only its JSON content types, uncompressed`, async () => {
    const { url, token, body } = await sampleOf(route, harness, vendor)
    const payload = JSON.stringify(body ?? {})
    const before = await dump(query)
    for (const headers of [
      {},
      ...odd.map(type => ({ 'content-type': type })),
      ...['gzip', 'br', 'deflate', 'x', 'identity, gzip'].map(encoding => ({
        'content-type': 'application/json',
        'content-encoding': encoding,
      })),
    ]) {
      const heard = await sendBytes(harness, route.method, url, { token, headers, payload })
      assert.deepEqual([headers, heard.status, heard.body.code], [headers, 415, 'unsupported_media_type'])
    }
    assert.deepEqual(await dump(query), before)
    for (const type of taken) {
      const sample = await sampleOf(route, harness, vendor)
      const heard = await sendBytes(harness, route.method, sample.url, {
        token: sample.token,
        headers: { 'content-type': type, 'content-encoding': 'identity' },
        payload: JSON.stringify(sample.body ?? {}),
      })
      assert.equal(heard.status, route.answer.status, type)
    }
  })

  test(`${nameOf(route)} treats a missing body, or an empty one of any type, as {}`, async () => {
    const {
      required: own,
      oneOf,
      minProperties,
    } = route.body as {
      required?: string[]
      oneOf?: { required: string[] }[]
      minProperties?: number
    }
    const names = own ?? oneOf?.[0]?.required
    const required = names?.[0] ?? (minProperties === undefined ? undefined : 'body')
    for (const request of [
      {},
      { headers: { 'content-type': 'application/json' } },
      { headers: { 'content-type': 'application/json' }, payload: '' },
      { headers: { 'content-length': '0' } },
      { headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, payload: '' },
    ]) {
      const { url, token } = await sampleOf(route, harness, vendor)
      const { status, body } = await sendBytes(harness, route.method, url, { token, ...request })
      if (required === undefined) assert.equal(status, route.answer.status, JSON.stringify(body))
      else assert.deepEqual([status, body.errors[0].path], [400, required])
    }
  })
}

test('white space around a content type is ignored', async () => {
  const { status } = await wire.ask(
    'PATCH /v1/workspace',
    [`authorization: Bearer ${vendor.live}`, 'content-type: \t application/json \t'],
    '{}',
  )
  assert.equal(status, 200)
})

for (const route of routes.filter(({ replayable }) => replayable)) {
  test(`${nameOf(route)} accepts one Idempotency-Key of 1 to 255 visible characters`, async () => {
    // Each route has its own caller: a key cannot be used again on another route.
    const caller = await makeVendor(harness)
    const { url, token, body = {} } = await sampleOf(route, harness, caller)
    const payload = JSON.stringify(body)
    const line = `${route.method} ${url}`
    const fixed = [`authorization: Bearer ${token}`, 'content-type: application/json']
    const before = await dump(query)
    for (const keys of [[''], ['a'.repeat(256)], ['a', 'a'], ['a', 'b'], ['é'], ['a\tb'], [' ']]) {
      const heard = await wire.ask(line, [...fixed, ...keys.map(key => `Idempotency-Key: ${key}`)], payload)
      assert.deepEqual(
        [keys, heard.status, heard.body.code, heard.body.errors?.[0].path],
        [keys, 400, 'validation_failed', 'Idempotency-Key'],
      )
    }
    assert.deepEqual(await dump(query), before)
    for (const key of ['!', '~'.repeat(255)]) {
      const sample = await sampleOf(route, harness, caller)
      const heard = await wire.ask(
        `${route.method} ${sample.url}`,
        [...fixed, `Idempotency-Key: ${key}`],
        JSON.stringify(sample.body ?? {}),
      )
      assert.equal(heard.status, route.answer.status, key)
    }
  })
}

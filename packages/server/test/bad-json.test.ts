import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { startHarness } from './harness.ts'
import { nameOf, sampleOf } from './samples.ts'
import { sendBytes } from './send-bytes.ts'
import { makeVendor } from './vendor.ts'

/** Bodies that are invalid on every route: each route that reads a body refuses them and writes nothing. */
const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)

const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))

/** Texts that are not JSON, or that two parsers may read differently. */
const malformed: Record<string, string | Uint8Array> = {
  'not JSON': 'name=x',
  'only white space': ' \n',
  'an object cut off': '{"name":"x"',
  'a string cut off': '{"name":"x',
  'a trailing comma': '{"name":"x",}',
  'single quotes': "{'name':'x'}",
  'a comment': '{/* x */}',
  'two values': '{}{}',
  'a word that JSON does not have': '{"x":NaN}',
  'a number with a plus': '{"x":+1}',
  'a number with a leading zero': '{"x":01}',
  'a hexadecimal number': '{"x":0x10}',
  'a raw line end in a string': '{"x":"\n"}',
  'a raw NUL in a string': bytes('{"x":"', 0, '"}'),
  'a NUL behind the value': bytes('{}', 0),
  'a byte-order mark': bytes(0xef, 0xbb, 0xbf, '{}'),
  'UTF-16': Buffer.from('{}', 'utf16le'),
  'a byte that is not UTF-8': bytes('{"x":"', 0xff, '"}'),
  'an overlong form of NUL': bytes('{"x":"', 0xc0, 0x80, '"}'),
  'a surrogate in UTF-8': bytes('{"x":"', 0xed, 0xa0, 0x80, '"}'),
  'a character cut off': bytes('{"x":"', 0xf0, 0x9f, '"}'),
  'a member given twice': '{"x":1,"x":1}',
  'a member given twice, once escaped': '{"x":1,"\\u0078":1}',
  'a member given twice, nested': '{"x":[{"y":{"z":1,"z":2}}]}',
  '__proto__ given twice': '{"__proto__":1,"__proto__":2}',
  '33 levels': `{"x":${'['.repeat(32)}${']'.repeat(32)}}`,
  '8,000 levels': '['.repeat(8_000) + ']'.repeat(8_000),
  '3,000 levels never closed': '{"x":'.repeat(3_000),
}

/** Members with text or numbers that cannot be stored, and the path in the error. */
const impossible: Record<string, [member: string, path: string]> = {
  'an escaped NUL': ['"x":"a\\u0000"', 'x'],
  'an escaped NUL in a name': ['"x\\u0000":1', 'x\uFFFD'],
  'half a surrogate pair': ['"x":"\\ud83d"', 'x'],
  'a surrogate pair the wrong way round': ['"x":"\\ude00\\ud83d"', 'x'],
  'half a surrogate pair in a name': ['"\\ud83d":1', '\uFFFD'],
  'half a surrogate pair deeply nested': ['"x":[{"y":["\\ud83d"]}]', 'x.0.y.0'],
  'a number beyond a double': ['"x":1e400', 'x'],
  'a negative number beyond a double': ['"x":-1e400', 'x'],
  'an integer beyond 2^53': ['"x":9007199254740993', 'x'],
  'an integer beyond 2^53 deeply nested': ['"x":{"y":[0,-9007199254740993]}', 'x.y.1'],
}

const unknownNames = [
  'expire_at',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'Name',
  'name ',
  '$ref',
]

for (const route of routes.filter(({ body }) => body !== null)) {
  test(`${nameOf(route)} refuses anything but one unambiguous JSON object of its fields`, async () => {
    const { url, token, body } = await sampleOf(route, harness, vendor)
    const own = JSON.stringify(body ?? {}).slice(1, -1)
    const withMember = (member: string) => `{${[member, own].filter(Boolean).join(',')}}`
    const send = (payload: string | Uint8Array) =>
      sendBytes(harness, route.method, url, {
        token,
        headers: { 'content-type': 'application/json' },
        payload,
      })
    const before = await dump(query)

    for (const [what, payload] of Object.entries(malformed)) {
      const { status, body } = await send(payload)
      assert.deepEqual([what, status, body.code, body.errors], [what, 400, 'malformed_json', undefined])
    }
    for (const [what, [member, path]] of Object.entries(impossible)) {
      const { status, body } = await send(withMember(member))
      assert.deepEqual(
        [what, status, body.code, body.errors?.[0].path],
        [what, 400, 'validation_failed', path],
      )
    }
    for (const name of unknownNames) {
      const { status, body } = await send(withMember(`${JSON.stringify(name)}:"x"`))
      assert.deepEqual(
        [status, body.code, body.errors],
        [400, 'validation_failed', [{ path: name, message: 'is not a known field' }]],
      )
    }
    for (const payload of [
      'null',
      '[]',
      '"x"',
      '0',
      'true',
      `[{${own}}]`,
      `${'['.repeat(32)}${']'.repeat(32)}`,
    ]) {
      const { status, body } = await send(payload)
      assert.deepEqual(
        [payload, status, body.code, body.errors?.[0].path],
        [payload, 400, 'validation_failed', 'body'],
      )
    }
    const long = await send(withMember(`"${'x'.repeat(route.bodyLimit / 2)}":1`))
    assert.equal(long.body.errors[0].path, '…')
    assert.ok(JSON.stringify(long.body).length < 2_000, 'the response repeats too much of the request')
    const large = await send(`{${own}}`.padEnd(route.bodyLimit + 1))
    assert.deepEqual([large.status, large.body.code], [413, 'payload_too_large'])
    const deepest = await send('['.repeat(route.bodyLimit))
    assert.deepEqual([deepest.status, deepest.body.code], [400, 'malformed_json'])
    assert.deepEqual(await dump(query), before)

    const largest = await send(`{${own}}`.padEnd(route.bodyLimit))
    assert.equal(largest.status, route.answer.status, 'a body of exactly the limit is accepted')
  })
}

test('no route’s body limit is larger than the specification needs', () => {
  const larger: Record<string, number> = {
    completeIdempotency: 8,
    receiveLeaks: 5,
    reportUsage: 1,
    importKeys: 1,
  }
  for (const { operation, access, bodyLimit } of routes) {
    const mebibytes = larger[operation]
    const expected = mebibytes === undefined ? (access.open ? 16_384 : 262_144) : mebibytes * 1_048_576
    assert.equal(bodyLimit, expected, operation)
  }
})

test('meta accepts any names and nesting within the limits, and returns them unchanged', async () => {
  const deep = `{"a":${'['.repeat(29)}${']'.repeat(29)}}`
  for (const meta of [
    '{"__proto__":{"x":1},"constructor":null,"toString":"x","":0}',
    '{"😀":"\\ud83d\\ude00","\\u2028":"é"}',
    '{"b":1,"a":[1.5,-0.25,1e21,true,null,9007199254740991]}',
    deep,
  ]) {
    const made = await sendBytes(harness, 'POST', '/v1/tenants', {
      token: vendor.live,
      headers: { 'content-type': 'application/json' },
      payload: `{"external_id":"${crypto.randomUUID()}","meta":${meta}}`,
    })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    const read = await harness.ask('GET', `/v1/tenants/${made.body.id}`, { token: vendor.live })
    assert.equal(JSON.stringify(read.body.meta), JSON.stringify(JSON.parse(meta)))
    assert.deepEqual(read.body, made.body)
  }
})

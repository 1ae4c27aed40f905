import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../platform/refusal.ts'
import { readCompletion } from './answer.ts'

const base = { scope_hash: '0'.repeat(64), env: 'live', lock_token: '12345678', status: 200 } as const

/** The path that the refusal names; null: the completion was accepted. */
function faultOf(more: object): string | null {
  try {
    readCompletion({ ...base, ...more })
    return null
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code === 'validation_failed')
    return error.faults[0]?.path ?? ''
  }
}

test('any bytes in base64 are decoded unchanged, with their size', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      const { body, bytes: size } = readCompletion({ ...base, body: Buffer.from(bytes).toString('base64') })
      assert.deepEqual(body, Buffer.from(bytes))
      assert.equal(size, bytes.length + 2)
    }),
  )
})

test('only the canonical base64 of a body is accepted', () => {
  const alphabet = [...'ABYZabyz0189+/-_= \n\t\u0080é']
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 12 }), text => {
      const decoded = Buffer.from(text, 'base64')
      assert.equal(faultOf({ body: text }), decoded.toString('base64') === text ? null : 'body')
    }),
    { numRuns: 10_000 },
  )
  for (const text of ['AA', 'AAA', 'AA=', 'AB==', 'AAB=', '=', '====', 'AA==AA==', '-_-_', 'AAAA\n', ' AAAA'])
    assert.equal(faultOf({ body: text }), 'body', text)
})

test('an answer without a body has no size, and its headers are still checked', () => {
  assert.deepEqual(readCompletion({ ...base, headers: { a: 'b' } }), {
    status: 200,
    ttlMs: null,
    headers: '{}',
    body: null,
    bytes: null,
  })
  assert.equal(faultOf({ headers: { 'a b': '' } }), 'headers.a b')
})

test('a header with an invalid name or a line break is refused by its path', () => {
  for (const name of ['', 'a b', 'a:', 'a\r', 'a\n', 'a\0', 'é', '"a"', 'a/b', '(a)'])
    assert.equal(faultOf({ headers: { ok: 'x', [name]: 'x' } }), `headers.${name}`)
  for (const value of ['\r', 'a\nb', 'a\r\nset-cookie: x', '\0'])
    assert.equal(faultOf({ headers: { ok: 'x', 'x-bad': value } }), 'headers.x-bad')
  for (const name of ['a', 'Set-Cookie', "!#$%&'*+-.^_`|~0z", '__proto__', 'constructor'])
    assert.equal(faultOf({ headers: JSON.parse(`{${JSON.stringify(name)}:"\\tany thing é 😀"}`) }), null)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Email,
  Meta,
  namedTenant,
  nullable,
  oneTenant,
  oneTenantAtMost,
  RateLimits,
  Scopes,
  strictObject,
  Timestamp,
} from '@keyrail/contract/shared'
import fc from 'fast-check'
import { type TSchema, Type } from 'typebox'
import { Refusal } from '../refusal.ts'
import { compile, isTimestamp } from './validate.ts'

function faultOf(schema: TSchema, value: unknown): string | null {
  try {
    compile(schema, 'body')(value)
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error.message
  }
  return null
}

test('a fault names its path with dots, and the whole body by its name', () => {
  const schema = strictObject({ rate_limits: nullable(RateLimits) })
  const rule = { id: 'a', limit: 0, window_ms: 1000, algorithm: 'fixed', scope: 'key' }
  assert.equal(faultOf(schema, { rate_limits: [rule] }), 'rate_limits.0.limit: must be >= 1')
  assert.equal(faultOf(schema, {}), 'rate_limits: is required')
  assert.equal(faultOf(schema, { rate_limits: null, expire_at: 1 }), 'expire_at: is not a known field')
  assert.equal(faultOf(schema, []), 'body: must be object')
})

test('a choice between members is checked last, and names one of them', () => {
  const ids = { tenant_id: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11', external_id: 'acme' }
  const one = strictObject({ ...namedTenant, name: Type.String() }, oneTenant)
  assert.equal(faultOf(one, { name: 'x', external_id: 'acme' }), null)
  assert.equal(faultOf(one, { name: 'x' }), 'tenant_id: is required, or external_id')
  assert.equal(faultOf(one, { name: 'x', ...ids }), 'external_id: must not be given beside tenant_id')
  assert.equal(faultOf(one, {}), 'name: is required')
  for (const value of [null, [], 0]) assert.equal(faultOf(one, value), 'body: must be object')
  const atMostOne = strictObject(namedTenant, oneTenantAtMost)
  assert.equal(faultOf(atMostOne, {}), null)
  assert.equal(faultOf(atMostOne, ids), 'external_id: must not be given beside tenant_id')
})

test('rate limit ids are unique, with the documented message', () => {
  const rule = { id: 'a', limit: 1, window_ms: 1000, algorithm: 'fixed', scope: 'key' }
  assert.equal(
    faultOf(strictObject({ r: RateLimits }), { r: [rule, { ...rule, limit: 2 }] }),
    'r: rate limit ids must be unique',
  )
})

test('lengths count code points', () => {
  const key = '\u{1f511}'
  assert.equal(faultOf(Scopes, [key.repeat(200)]), null)
  assert.match(String(faultOf(Scopes, [key.repeat(201)])), /^0: must not have more than 200 characters/)
})

test('meta is bounded in bytes as JSON, and in members at every level', () => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]))
  assert.equal(faultOf(Meta, members(256)), null)
  assert.notEqual(faultOf(Meta, members(257)), null)
  assert.notEqual(faultOf(Meta, { a: [{ b: members(257) }] }), null)
  assert.equal(faultOf(Meta, { a: 'x'.repeat(65_536 - 8) }), null)
  assert.match(
    String(faultOf(Meta, { a: 'x'.repeat(65_536 - 7) })),
    /must have at most 65536 bytes as JSON/,
    'the message has the bound',
  )
})

test('a text’s length counts characters as JSON Schema does', () => {
  const name = Type.String({ minLength: 2, maxLength: 4 })
  for (const text of ['ab', 'abcd', '😀😀', '😀😀😀😀', 'a😀', 'ab\ud800', '\udc00\ud800\udc00\ud800'])
    assert.equal(faultOf(name, text), null, text)
  for (const text of ['', 'a', '😀', '\ud800', 'abcde', '😀😀😀😀😀', 'abcd😀', '\udc00\ud800\udc00\ud800ab'])
    assert.match(
      String(faultOf(name, text)),
      /body: must not have (fewer than 2|more than 4) characters/,
      text,
    )
})

test('a timestamp needs a zone and a date that exists', () => {
  for (const good of [
    '2024-02-29T00:00:00Z',
    '2000-02-29T23:59:59.123456789+14:00',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
  ]) {
    assert.ok(isTimestamp(good), good)
  }
  for (const bad of [
    '2024-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2024-04-31T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-00-01T00:00:00Z',
    '2024-01-00T00:00:00Z',
    '2024-01-01T24:00:00Z',
    '2024-01-01T00:60:00Z',
    '2024-01-01T23:59:60Z',
    '2024-01-01T00:00:00',
    '2024-01-01 00:00:00Z',
    '2024-01-01T00:00:00+24:00',
    '2024-01-01',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '10000-01-01T00:00:00Z',
    '',
  ]) {
    assert.ok(!isTimestamp(bad), bad)
  }
})

test('every time that a response can have is accepted in a request', () => {
  const date = fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  })
  fc.assert(fc.property(date, date => faultOf(Timestamp, date.toISOString()) === null))
})

test('an address beyond ASCII is refused in a sentence that says so', () => {
  const schema = strictObject({ email: Email })
  const beyond = /^email: must be a valid e-mail address in ASCII; write a domain beyond it in its xn-- form$/
  for (const email of ['josé@example.com', 'ann@exämple.com', 'ann@例え.jp']) {
    assert.match(faultOf(schema, { email }) ?? '', beyond)
  }
  assert.equal(faultOf(schema, { email: 'ann' }), 'email: must be a valid e-mail address')
  assert.equal(faultOf(schema, { email: 'ann@xn--exmple-cua.com' }), null)
})

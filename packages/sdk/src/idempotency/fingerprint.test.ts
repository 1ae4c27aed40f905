import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fingerprintOf, type RequestParts, scopeHashOf } from './fingerprint.ts'

const request: RequestParts = { method: 'POST', target: '/orders?b=2&a=1', body: '{"a":1}' }
const print = (more: Partial<RequestParts> = {}) => fingerprintOf({ ...request, ...more })

test('a fingerprint is a fixed SHA-256, the same in every version', () => {
  assert.equal(print(), 'd96ebcecb047828462f35e260bccbda7bdb35626293be381898245c341fdcd74')
  assert.equal(scopeHashOf('p', 't', 'k'), '95ead52366c09131c33ec391fa6e3c4a0bd8610c61743a6b9143321bcca1c537')
})

test('in a query the order of names does not count, that of repeated values does', () => {
  assert.equal(print({ target: '/orders?a=1&b=2' }), print())
  assert.equal(print({ target: '/orders?%62=2&%61=1' }), print({ target: '/orders?%61=1&%62=2' }))
  for (const [one, other] of [
    ['a=1&a=2', 'a=2&a=1'],
    ['a=1&%61=2', '%61=2&a=1'],
    ['%FF=1&%FF=2', '%FF=2&%FF=1'],
  ]) {
    assert.notEqual(print({ target: `/orders?${one}` }), print({ target: `/orders?${other}` }))
  }
})

test('a query counts as sent, without decoding', () => {
  const queries = [
    'a=%FF',
    'a=%FE',
    'a=%EF%BF%BD',
    'a=\u{FFFD}',
    'a=%',
    'a=%25',
    'a=',
    'a',
    'a=+',
    'a=%2B',
    '',
  ]
  const prints = queries.map(query => print({ target: `/orders?${query}` }))
  assert.equal(new Set(prints).size, queries.length)
})

test('method, path, query and body each count', () => {
  const prints = [
    print(),
    print({ method: 'PUT' }),
    print({ target: '/order?s&b=2&a=1' }),
    print({ target: '/orders' }),
    print({ target: '/orders?b=2' }),
    print({ body: '{"a":2}' }),
    print({ body: '' }),
  ]
  assert.equal(new Set(prints).size, prints.length)
  assert.equal(print({ method: 'post' }), print())
  assert.equal(print({ body: Buffer.from('{"a":1}') }), print())
})

test('moving bytes between parts of a request changes its fingerprint', () => {
  const text = fc.string({ maxLength: 6 })
  fc.assert(
    fc.property(fc.tuple(text, text, text), fc.tuple(text, text, text), (one, other) => {
      assert.equal(
        scopeHashOf(...one) === scopeHashOf(...other),
        one.every((part, at) => part === other[at]),
      )
    }),
  )
})

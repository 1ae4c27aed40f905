import assert from 'node:assert/strict'
import { test } from 'node:test'
import Type from 'typebox'
import { Refusal } from '../refusal.ts'
import { readQuery } from './query.ts'

const schema = Type.Object({
  limit: Type.Optional(Type.Integer({ default: 50 })),
  name: Type.Optional(Type.String()),
})
const read = (text: string) => readQuery(text, schema)
const pathOf = (text: string) => {
  try {
    read(text)
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error.faults[0]?.path
  }
  return null
}

test('known parameters are read with defaults, integers as numbers; unknown ones are ignored', () => {
  assert.deepEqual(read('limit=10&name=a%20b+c&other=1'), { limit: 10, name: 'a b c' })
  assert.deepEqual(read(''), { limit: 50 })
})

test('a strict schema refuses parameters that it does not name', () => {
  const strict = Type.Object({ scopes: Type.Optional(Type.String()) }, { additionalProperties: false })
  assert.deepEqual(readQuery('scopes=a', strict), { scopes: 'a' })
  for (const [text, path] of [
    ['scope=a', 'scope'],
    ['scopes=a&__proto__=b', '__proto__'],
  ] as const)
    assert.throws(
      () => readQuery(text, strict),
      ({ faults }: Refusal) => faults[0]?.path === path && faults[0].message === 'is not a known parameter',
    )
})

test('a whole number is decimal digits and nothing else', () => {
  for (const text of ['0x10', '010', '-0', '1e2', '%2B5', '1.5', '', ' 1', '1,2', '1'.repeat(16), '٣']) {
    assert.equal(pathOf(`limit=${text}`), 'limit', text)
  }
})

test('a repeated or malformed parameter is refused if it is known, ignored otherwise', () => {
  assert.equal(pathOf('limit=1&limit=1'), 'limit')
  for (const bad of ['%', '%ff', '%00', '%ed%a0%80']) {
    assert.equal(pathOf(`name=${bad}`), 'name', bad)
    assert.equal(pathOf(`other=${bad}&${bad}=1`), null, bad)
  }
})

test('names of the prototype are unknown parameters', () => {
  assert.deepEqual(read('__proto__=1&constructor=2&toString=3'), { limit: 50 })
})

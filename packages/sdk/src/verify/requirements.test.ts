import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestKeyring } from '../testing.ts'
import type { Requirements } from './verify.ts'

const keyring = createTestKeyring()
const { key } = keyring.issue({ scopes: ['orders:read', 'orders:write'] })
const code = (requirements?: unknown) => keyring.verify(key, requirements as Requirements).code

test('every required scope must match exactly', () => {
  assert.equal(code({ scopes: [] }), 'valid')
  assert.equal(code({ scopes: ['orders:read'] }), 'valid')
  assert.equal(code({ scopes: ['orders:write', 'orders:read'] }), 'valid')
  for (const scope of ['orders', 'Orders:read', 'orders:read ', 'orders:*', '*', '', 'orders:delete']) {
    assert.equal(code({ scopes: ['orders:read', scope] }), 'insufficient_scope', scope)
  }
})

test('an unknown or misspelt requirement refuses every key', () => {
  for (const none of [undefined, null, {}, { scopes: undefined, env: undefined }]) {
    assert.equal(code(none), 'valid')
  }
  for (const misspelt of [
    { scope: ['admin'] },
    { scope: undefined },
    { Scopes: ['admin'] },
    { scopes: ['orders:read'], enviroment: 'test' },
    Object.create({ scope: ['admin'] }),
    ['admin'],
    'admin',
    0,
    true,
    () => ({ scopes: ['admin'] }),
  ]) {
    assert.equal(code(misspelt), 'insufficient_scope', JSON.stringify(misspelt))
  }
})

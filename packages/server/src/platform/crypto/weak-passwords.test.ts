import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { weaknessOf } from './weak-passwords.ts'

const weakness = (password: string) => weaknessOf(password, 'ann@example.com')

test('a leaked password is common, in upper and lower case', async () => {
  for (const password of [
    '123qweasdzxc',
    'leavemealone',
    'LeaveMeAlone',
    'UNBELIEVABLE',
    'password',
    'iloveyou',
  ])
    assert.equal(await weakness(password), 'common', password)
})

test('a repeated character or short sequence is common', async () => {
  for (const password of [
    'aaaaaaaaaaaa',
    '            ',
    'abcabcabcabc',
    'testtesttestte',
    'ÄäÄäÄäÄäÄäÄä',
    '🔑'.repeat(12),
  ])
    assert.equal(await weakness(password), 'common', password)
})

test('a run over digits, alphabet or keyboard is common, forward and backward, from any start', async () => {
  for (const password of [
    '123456789012',
    '567890123456',
    '987654321098',
    'abcdefghijkl',
    'qwertyuiopas',
    'QWERTZUIOPAS',
    'azertyuiopqs',
    'mnbvcxzlkjhg',
    '1qaz2wsx3edc',
    'abcdefghijklmnopqrstuvwxyz'.repeat(10).slice(0, 256),
  ])
    assert.equal(await weakness(password), 'common', password)
})

test('the address of the account is refused, in any case', async () => {
  assert.equal(await weaknessOf('Ann@Example.com', 'ann@example.com'), 'same_as_address')
  assert.equal(await weaknessOf('jose\u0301@example.com', 'jos\u00e9@example.com'), 'same_as_address')
  assert.equal(await weaknessOf('ann@example.com!', 'ann@example.com'), null)
})

test('anything else is accepted: words, blanks, signs, and parts that are common', async () => {
  for (const password of [
    'correct horse battery',
    'my password is',
    'qwertyuiopas!',
    'aaaaaaaaaaab',
    'naïve 🔑 reader',
  ])
    assert.equal(await weakness(password), null, password)
  for (let i = 0; i < 1_000; i++) assert.equal(await weakness(randomBytes(9).toString('base64')), null)
})

test('a verdict is the same in upper and lower case, whatever the text', async () => {
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^[a-z0-9]{8,30}$/), async text => {
      assert.equal(await weakness(text), await weakness(text.toUpperCase()))
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCommandLine } from './options.ts'

test('the default is 10 rounds of 10 s after 5 s of warm-up', () => {
  const { name, options } = parseCommandLine(['g10'])
  assert.equal(name, 'g10')
  assert.deepEqual(options, { rounds: 10, seconds: 10, warmUpSeconds: 5, quick: false, json: false })
})

test('--quick shortens every setting that is not given', () => {
  const { options } = parseCommandLine(['--quick', 'g3', '--seconds', '0.5', '--json'])
  assert.deepEqual(options, { rounds: 3, seconds: 0.5, warmUpSeconds: 1, quick: true, json: true })
})

test('without a name no bench runs', () => {
  assert.equal(parseCommandLine([]).name, undefined)
})

test('an unknown or invalid option is refused in one line', () => {
  assert.throws(() => parseCommandLine(['g1', 'g2']), /one bench at a time/)
  assert.throws(() => parseCommandLine(['g1', '--rounds', '2.5']), /whole number/)
  assert.throws(() => parseCommandLine(['g1', '--seconds', '0']), /above 0/)
  assert.throws(() => parseCommandLine(['g1', '--warm-up', 'long']), /above 0/)
  assert.throws(() => parseCommandLine(['g1', '--fast']), /--fast/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftNetworks, faultOfNetworks, readNetworks } from '../src/components/networks-draft.ts'
import { faultOfRanges, placeOf } from '../src/components/ranges.ts'

test('ranges and single addresses are taken, and a fault names what is wrong', () => {
  assert.equal(faultOfRanges(['203.0.113.0/24', '203.0.113.7', '2001:DB8::/32', '::1', '0.0.0.0/0']), null)
  for (const [range, fault] of [
    ['203.0.113.7/24', /^203\.0\.113\.7\/24 is not a range: .* bits are set after it/],
    ['203.0.113.0/33', /prefix is too long/],
    ['203.0.113', /^203\.0\.113 is not an address or a range/],
    ['010.0.0.1', /is not an address/],
    ['example.com', /is not an address/],
    ['10.0.0.0/8 ', /is not a range/],
  ] as const)
    assert.match(faultOfRanges(['::1', range]) ?? '', fault)
  assert.match(
    faultOfRanges(Array.from({ length: 33 }, (_, at) => `10.0.0.${at}`)) ?? '',
    /32 ranges at most/,
  )
})

test('an address is in the range that has it, in none, or is no address', () => {
  const ranges = ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7']
  assert.deepEqual(placeOf('203.0.113.9', ranges), { in: '203.0.113.0/24' })
  assert.deepEqual(placeOf('::ffff:203.0.113.9', ranges), { in: '203.0.113.0/24' })
  assert.deepEqual(placeOf('2001:db8::1', ranges), { in: '2001:db8::/32' })
  assert.deepEqual(placeOf('198.51.100.7', ranges), { in: '198.51.100.7' })
  assert.equal(placeOf('198.51.100.8', ranges), 'outside')
  assert.equal(placeOf('2001:db9::1', ranges), 'outside')
  for (const text of ['203.0.113', '203.0.113.9:80', 'localhost', ''])
    assert.equal(placeOf(text, ranges), 'unread')
})

test('a form gives back the networks of a key as they were, whichever kind they are', () => {
  for (const networks of [null, [], ['203.0.113.0/24']])
    assert.deepEqual(readNetworks(draftNetworks(networks)), networks)
  assert.equal(draftNetworks(undefined).kind, 'inherit')
  assert.equal(faultOfNetworks({ kind: 'own', ranges: [], fault: null }), 'Add a range, or choose anywhere.')
  const wrong = { ranges: ['no range'], fault: 'It is wrong.' }
  assert.equal(faultOfNetworks({ kind: 'own', ...wrong }), 'It is wrong.')
  assert.equal(faultOfNetworks({ kind: 'any', ...wrong }), null)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { networkOf, siteOf } from './client-network.ts'

test('an IPv4 address is itself, also when written as IPv6', () => {
  for (const ip of ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:0201', '0:0:0:0:0:ffff:192.0.2.1'])
    assert.equal(networkOf(ip), '192.0.2.1', ip)
})

test('an IPv6 address is its /64, however it is written', () => {
  for (const ip of [
    '2001:db8::1',
    '2001:0DB8:0:0:ffff:ffff:ffff:ffff',
    '2001:db8:0:0:1::',
    '2001:db8::1%eth0',
  ])
    assert.equal(networkOf(ip), '2001:db8:0:0::/64', ip)
  assert.equal(networkOf('::1'), '0:0:0:0::/64')
  assert.equal(networkOf('2001:db8:0:1::1'), '2001:db8:0:1::/64')
  assert.equal(networkOf('64:ff9b::192.0.2.1'), '64:ff9b:0:0::/64')
})

test('only the first 64 bits of an IPv6 address make a difference', () => {
  const group = fc.oneof(fc.constant(0), fc.constant(0xffff), fc.nat(0xffff))
  const half = fc.tuple(group, group, group, group)
  const written = (groups: number[]) => groups.map(one => one.toString(16)).join(':')
  fc.assert(
    fc.property(half, half, (first, last) => {
      fc.pre(first.some(one => one !== 0))
      assert.equal(networkOf(written([...first, ...last])), `${written(first)}::/64`)
    }),
  )
})

test('an invalid address counts as itself, and is never longer than a valid one', () => {
  assert.equal(networkOf(''), '')
  assert.equal(networkOf('unknown'), 'unknown')
  assert.equal(networkOf('x'.repeat(9_000)).length, 45)
})

test('a site is an IPv4 address, or the /48 of an IPv6 one', () => {
  assert.equal(siteOf('192.0.2.1'), '192.0.2.1')
  assert.equal(siteOf('::ffff:192.0.2.1'), '192.0.2.1')
  for (const ip of ['2001:db8:1::1', '2001:db8:1:ffff::1']) assert.equal(siteOf(ip), '2001:db8:1::/48')
  assert.equal(siteOf('unknown'), 'unknown')
})

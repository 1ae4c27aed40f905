import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { clientAddress, readAddress } from './client-address.ts'

const port = fc.nat(65_535)
const upper = fc.boolean()

test('an IPv4 address is itself, with a port, and mapped into IPv6 in any form', () => {
  fc.assert(
    fc.property(fc.ipV4(), port, upper, (address, port, isUpper) => {
      const mapped = ipaddr.IPv4.parse(address).toIPv4MappedAddress()
      const forms = [mapped.toString(), mapped.toNormalizedString(), `::ffff:${address}`]
      const texts = [...forms, ...forms.map(text => `[${text}]`), ...forms.map(text => `[${text}]:${port}`)]
      for (const text of [address, `${address}:${port}`, ` ${address} `, ...texts])
        assert.equal(readAddress(isUpper ? text.toUpperCase() : text), address, text)
    }),
  )
})

test('an IPv6 address has one text, however it is written', () => {
  fc.assert(
    fc.property(fc.ipV6(), port, upper, (address, port, isUpper) => {
      // The library takes a deprecated form for an IPv4-mapped address.
      fc.pre(!address.includes('.'))
      const read = ipaddr.IPv6.parse(address)
      fc.pre(!read.isIPv4MappedAddress())
      const forms = [address, read.toNormalizedString(), `${address}%eth0`]
      const texts = [...forms, ...forms.map(text => `[${text}]`), ...forms.map(text => `[${text}]:${port}`)]
      for (const text of texts)
        assert.equal(readAddress(isUpper ? text.toUpperCase() : text), read.toRFC5952String(), text)
    }),
  )
})

test('a text that is not an address is refused, whatever stands around it', () => {
  for (const text of [
    ...[
      '',
      ' ',
      'unknown',
      '_hidden',
      'localhost',
      'example.com:80',
      '<script>',
      '203.0.113.7:',
      '203.0.113.7:x',
    ],
    ...['203.0.113', '203.0.113.256', '203.0.113.07', '0x7f000001', '2130706433', '203.0.113.7/32'],
    ...['[203.0.113.7]', '[203.0.113.7]:80', '[2001:db8::1', '2001:db8::1]', '[2001:db8::1]x', '[]', '[]:80'],
    ...['2001:db8::1::2', '12345::', ':'.repeat(100_000), '['.repeat(100_000), '1.'.repeat(100_000)],
  ])
    assert.equal(readAddress(text), null, text.slice(0, 40))
})

test('the deprecated IPv4-compatible form is no IPv4 address', () => {
  assert.equal(readAddress('::192.0.2.1'), '::c000:201')
})

test('the client is as many hops away as proxies are trusted, up to an invalid one', () => {
  const header = '198.51.100.1, 198.51.100.2:80 ,[2001:DB8::3]:443'
  assert.equal(clientAddress('::ffff:10.0.0.1', header, 0), '10.0.0.1')
  assert.equal(clientAddress('10.0.0.1', header, 1), '2001:db8::3')
  assert.equal(clientAddress('10.0.0.1', header, 2), '198.51.100.2')
  assert.equal(clientAddress('10.0.0.1', header, 9), '198.51.100.1')
  assert.equal(clientAddress('10.0.0.1', ['198.51.100.1', '198.51.100.2'], 1), '198.51.100.2')
  assert.equal(clientAddress('10.0.0.1', 'forged, unknown', 1), '10.0.0.1')
  assert.equal(clientAddress('10.0.0.1', '198.51.100.1, unknown', 2), '10.0.0.1')
  assert.equal(clientAddress('10.0.0.1', 'unknown, 198.51.100.2', 2), '198.51.100.2')
  assert.equal(clientAddress('10.0.0.1', undefined, 1), '10.0.0.1')
  assert.equal(clientAddress(undefined, undefined, 1), '')
})

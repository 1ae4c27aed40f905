import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { readStoredNetworks } from './cidr.ts'
import { clientAddress, readAddress, trustsPeer } from './client-address.ts'

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

const proxies = readStoredNetworks(['10.42.7.0/24', '2001:db8:7::/64', '192.0.2.1'])

test('with networks the client is the first address from the right that is in none of them', () => {
  const from = (remote: string | undefined, header: string | readonly string[] | undefined) =>
    clientAddress(remote, header, proxies)
  assert.equal(from('10.42.7.9', '198.51.100.1'), '198.51.100.1')
  assert.equal(from('::ffff:10.42.7.9', '198.51.100.1'), '198.51.100.1', 'an IPv4-mapped proxy')
  assert.equal(from('2001:db8:7::1', '198.51.100.1, ::ffff:10.42.7.9'), '198.51.100.1')
  assert.equal(from('10.42.7.9', 'forged, 203.0.113.7, 198.51.100.1:80, 192.0.2.1'), '198.51.100.1')
  assert.equal(from('10.42.7.9', ['203.0.113.7', '198.51.100.1', '[2001:db8:7::2]:443']), '198.51.100.1')
  assert.equal(from('10.42.7.9', undefined), '10.42.7.9')
})

test('with networks the header of anybody else is ignored, and an invalid entry ends it', () => {
  for (const remote of ['10.42.8.1', '::10.42.7.9', '2001:db8:7:1::1', '127.0.0.1', '192.0.2.2'])
    assert.equal(clientAddress(remote, '203.0.113.7, 10.42.7.9', proxies), readAddress(remote), remote)
  assert.equal(clientAddress(undefined, '203.0.113.7', proxies), '')
  assert.equal(clientAddress('10.42.7.9', '203.0.113.7, unknown, 192.0.2.1', proxies), '192.0.2.1')
  assert.equal(clientAddress('10.42.7.9', '203.0.113.7,', proxies), '10.42.7.9')
})

test('where every hop is in a network, the client is the leftmost', () => {
  assert.equal(clientAddress('10.42.7.9', '10.42.7.3, 2001:DB8:7::2, 192.0.2.1', proxies), '10.42.7.3')
})

test('a peer is trusted in a network, or with any number of proxies but none', () => {
  const asked = ['10.42.7.9', '::ffff:10.42.7.9', '2001:db8:7::1%eth0', '10.42.8.1', '', undefined]
  assert.deepEqual(
    asked.map(remote => trustsPeer(proxies, remote)),
    [true, true, true, false, false, false],
  )
  assert.deepEqual([trustsPeer(0, '10.42.7.9'), trustsPeer(1, '10.42.8.1')], [false, true])
})

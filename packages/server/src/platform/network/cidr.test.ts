import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { BlockList, SocketAddress } from 'node:net'
import { test } from 'node:test'
import { isInside, isWithin, networkText, readNetwork, readStoredNetworks } from './cidr.ts'

const read = (text: string) => {
  const network = readNetwork(text)
  assert.ok(typeof network !== 'string', `${text} ${network}`)
  return network
}

const canonical: [given: string, text: string][] = [
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['203.0.113.7', '203.0.113.7/32'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['::/0', '::/0'],
  ['2001:DB8:0:0:0:0:0:0/32', '2001:db8::/32'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1/128'],
  ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
  ['::ffff:0a00:0000/104', '10.0.0.0/8'],
  ['::ffff:203.0.113.7', '203.0.113.7/32'],
  ['::ffff:0:0/96', '0.0.0.0/0'],
]
for (const [given, text] of canonical) {
  test(`${given} is stored as ${text}`, () => {
    assert.equal(networkText(read(given)), text)
    assert.equal(networkText(read(text)), text)
  })
}

const wrong = [
  '',
  'x',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/08',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  '10.0.0.0/8 ',
  ' 10.0.0.0/8',
  '10.0.0.0/255.0.0.0',
  '10.0.0.1/8',
  '10.0.0.0/6',
  '010.0.0.0/8',
  '0x0a000000/8',
  '10.0/16',
  '167772160',
  '2001:db8::/129',
  '2001:db8::1/64',
  '2001:db8::1::/64',
  'fe80::1%eth0',
  'fe80::%1/64',
  '[::1]',
  '127.0.0.1:80',
  '::ffff:10.0.0.1/104',
  '::ffff:0:0/95',
  '10.0.0.0/8\n',
  '１０.0.0.0/8',
]
for (const given of wrong) {
  test(`${JSON.stringify(given)} is refused`, () => assert.equal(typeof readNetwork(given), 'string'))
}

test('an address is inside a range exactly where Node’s own BlockList finds it', () => {
  for (let round = 0; round < 5_000; round += 1) {
    const bytes = round % 2 === 0 ? 4 : 16
    const bits = randomInt(0, bytes * 8 + 1)
    const { first, last } = edgesOf(randomBytes(bytes), bits)
    const range = `${textOf(first)}/${bits}`
    const model = new BlockList()
    model.addSubnet(textOf(first), bits, bytes === 4 ? 'ipv4' : 'ipv6')
    const networks = [read(range)]
    const asked = [first, last, stepped(first, -1), stepped(last, 1), within(first, bits), randomBytes(bytes)]
    for (const address of asked.map(textOf)) {
      const expected = model.check(new SocketAddress({ address, family: bytes === 4 ? 'ipv4' : 'ipv6' }))
      assert.equal(isInside(networks, address), expected, `${address} in ${range}`)
      if (bytes === 4) {
        assert.equal(isInside(networks, `::ffff:${address}`), expected, `mapped ${address} in ${range}`)
        const mapped = [read(`::ffff:${textOf(first)}/${96 + bits}`)]
        assert.equal(isInside(mapped, address), expected, `${address} in mapped ${range}`)
      }
    }
  }
})

test('the deprecated IPv6 form of an IPv4 address is another address', () => {
  const ipv4 = [read('10.0.0.0/8')]
  assert.equal(isInside(ipv4, '::10.1.2.3'), false)
  assert.equal(isInside(ipv4, '::ffff:10.1.2.3'), true)
  const range = read('::10.0.0.0/104')
  assert.equal(networkText(range), '::a00:0/104')
  assert.equal(isInside([range], '10.1.2.3'), false)
  for (const address of ['::10.1.2.3', '::a01:203']) assert.equal(isInside([range], address), true, address)
})

test('a range is within another exactly where both of its ends are', () => {
  for (let round = 0; round < 5_000; round += 1) {
    const bytes = round % 2 === 0 ? 4 : 16
    const outerBits = randomInt(0, bytes * 8 + 1)
    const outer = edgesOf(randomBytes(bytes), outerBits)
    const near = round % 3 === 0 ? stepped(outer.last, 1) : within(outer.first, outerBits)
    const innerBits = randomInt(0, bytes * 8 + 1)
    const inner = edgesOf(near, innerBits)
    const [a, b] = [read(`${textOf(inner.first)}/${innerBits}`), read(`${textOf(outer.first)}/${outerBits}`)]
    const expected = inner.first.compare(outer.first) >= 0 && inner.last.compare(outer.last) <= 0
    assert.equal(isWithin(a, b), expected, `${networkText(a)} in ${networkText(b)}`)
  }
})

test('IPv4 and IPv6 ranges never contain each other, however wide', () => {
  assert.equal(isInside([read('::/0')], '10.0.0.1'), false)
  assert.equal(isInside([read('::/0')], '::ffff:10.0.0.1'), false)
  assert.equal(isInside([read('0.0.0.0/0')], '2001:db8::1'), false)
  assert.equal(isWithin(read('10.0.0.0/8'), read('::/0')), false)
})

test('an invalid address is in no range', () => {
  const everywhere = ['0.0.0.0/0', '::/0'].map(read)
  for (const address of [
    undefined,
    '',
    'unknown',
    '_hidden',
    '10.0.0.1:443',
    '[::1]',
    '10.1',
    '0x7f000001',
  ]) {
    assert.equal(isInside(everywhere, address), false, String(address))
  }
})

test('a stored range that cannot be read admits no address', () => {
  assert.deepEqual(readStoredNetworks(['everywhere', '10.0.0.1/8']), [])
})

function edgesOf(address: Buffer, bits: number) {
  const hosts = (1n << BigInt(address.length * 8 - bits)) - 1n
  const number = toNumber(address)
  return {
    first: toBytes(number & ~hosts, address.length),
    last: toBytes(number | hosts, address.length),
  }
}
const within = (first: Buffer, bits: number) => {
  const hosts = (1n << BigInt(first.length * 8 - bits)) - 1n
  return toBytes(toNumber(first) | (toNumber(randomBytes(first.length)) & hosts), first.length)
}
const stepped = (address: Buffer, by: number) => toBytes(toNumber(address) + BigInt(by), address.length)
const toNumber = (address: Buffer) => BigInt(`0x${address.toString('hex')}`)
const toBytes = (number: bigint, length: number) =>
  Buffer.from(
    BigInt.asUintN(length * 8, number)
      .toString(16)
      .padStart(length * 2, '0'),
    'hex',
  )

/** Writes an IPv6 address in full. */
const textOf = (address: Buffer) =>
  address.length === 4 ? [...address].join('.') : (address.toString('hex').match(/.{4}/g) ?? []).join(':')

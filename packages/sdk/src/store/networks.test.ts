import assert from 'node:assert/strict'
import { BlockList, isIP } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { Networks } from './networks.ts'

const place = (ranges: readonly string[], address: unknown) => Networks.read(ranges)?.place(address)

/** An independent reading: one number for each address, and IPv4 apart from IPv6. Undefined: no address. */
function numberOf(text: string): { bits: 32 | 128; value: bigint } | undefined {
  const [plain = '', zone] = text.split(/%(.*)/s)
  if (isIP(zone === undefined ? text : plain) === 0 || (zone !== undefined && isIP(plain) !== 6))
    return undefined
  if (isIP(plain) === 4) return { bits: 32, value: ofBytes(plain) }
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(plain)
  const low = dotted ? ofBytes(dotted[2] ?? '') : 0n
  const hex = dotted ? `${dotted[1]}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}` : plain
  const [before = '', after] = hex.split('::')
  const [left, right] = [before, after ?? ''].map(part => (part === '' ? [] : part.split(':')))
  const zeros = Array(8 - (left?.length ?? 0) - (right?.length ?? 0)).fill('0')
  const groups = [...(left ?? []), ...(after === undefined ? [] : zeros), ...(right ?? [])]
  const value = groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n)
  return value >> 32n === 0xffffn ? { bits: 32, value: value & 0xffffffffn } : { bits: 128, value }
}
const ofBytes = (text: string) => text.split('.').reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)

function isWithin(range: string, address: string): boolean {
  const [first = '', prefix = ''] = range.split('/')
  const [one, other] = [numberOf(first), numberOf(address)]
  if (one === undefined || other === undefined || one.bits !== other.bits) return false
  const bits = Number(prefix) - (first.includes(':') && one.bits === 32 ? 96 : 0)
  const free = BigInt(one.bits - bits)
  return one.value >> free === other.value >> free
}

const byte = fc.oneof(fc.constantFrom(0, 1, 127, 128, 254, 255), fc.nat(255))
const ipv4 = fc.tuple(byte, byte, byte, byte).map(bytes => bytes.join('.'))
const group = fc.oneof(fc.constantFrom(0, 0, 0, 1, 0xffff, 0x8000), fc.nat(0xffff))
/** The same address in different forms: with zeros, in upper case, shortened somewhere, with an IPv4 address at its end. */
const ipv6 = fc
  .record({
    groups: fc.array(group, { minLength: 8, maxLength: 8 }),
    form: fc.constantFrom('plain', 'padded', 'upper', 'short', 'dotted', 'mapped'),
    gap: fc.nat(7),
  })
  .map(({ groups, form, gap }) => {
    const hex = groups.map(each => each.toString(16))
    const dotted = `${(groups[6] ?? 0) >> 8}.${(groups[6] ?? 0) & 255}.${(groups[7] ?? 0) >> 8}.${(groups[7] ?? 0) & 255}`
    if (form === 'padded') return hex.map(each => each.padStart(4, '0')).join(':')
    if (form === 'upper') return hex.join(':').toUpperCase()
    if (form === 'short') return `${hex.slice(0, gap).join(':')}::${hex.slice(gap + 1).join(':')}`
    if (form === 'dotted') return `${hex.slice(0, 6).join(':')}:${dotted}`
    return form === 'mapped' ? `::ffff:${dotted}` : hex.join(':')
  })
const address = fc.oneof(ipv4, ipv6)
const range = fc.tuple(address, fc.nat(128)).map(([first, length]) => {
  const read = numberOf(first)
  assert.ok(read, first)
  const bits = read.bits === 32 ? length % 33 : length
  const free = BigInt(read.bits - bits)
  const start = (read.value >> free) << free
  if (read.bits === 32) {
    const bytes = [24n, 16n, 8n, 0n].map(shift => (start >> shift) & 255n).join('.')
    return length > 64 ? `::ffff:${bytes}/${bits + 96}` : `${bytes}/${bits}`
  }
  const hex = start.toString(16).padStart(32, '0')
  return `${(hex.match(/.{4}/g) ?? []).join(':')}/${bits}`
})

test('an address is inside exactly where an independent reading of both says so', () => {
  const within = fc.tuple(range, address, fc.boolean(), fc.nat())
  fc.assert(
    fc.property(within, ([network, other, near, seed]) => {
      // Half of the addresses begin as the range does.
      const asked = near ? nearTo(network, seed) : other
      const expected = isWithin(network, asked) ? 'inside' : 'outside'
      assert.equal(place([network], asked), expected, `${asked} in ${network}`)
      assert.equal(place(['192.0.2.1/32', network, '2001:db8::1/128'], asked), expected)
    }),
    { numRuns: 3_000 },
  )
})

/** The first address of a range with one bit changed. */
function nearTo(network: string, seed: number): string {
  const [first = ''] = network.split('/')
  const read = numberOf(first)
  assert.ok(read)
  const value = read.value ^ (1n << BigInt(seed % read.bits))
  if (read.bits === 32) return [24n, 16n, 8n, 0n].map(shift => (value >> shift) & 255n).join('.')
  const hex = value.toString(16).padStart(32, '0')
  return (hex.match(/.{4}/g) ?? []).join(':')
}

test('a list of ranges admits what a BlockList of Node has', () => {
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 8 }), address, (ranges, asked) => {
      const read = numberOf(asked)
      const list = new BlockList()
      // Node compares an IPv4 address with ranges of IPv6 too, such as `::/0`.
      for (const each of ranges.filter(each => numberOf(each.split('/')[0] ?? '')?.bits === read?.bits)) {
        const [first = '', prefix = ''] = each.split('/')
        const isIpv4 = numberOf(first)?.bits === 32
        const plain = isIpv4 ? first.replace('::ffff:', '') : first
        list.addSubnet(
          plain,
          Number(prefix) - (isIpv4 && first.includes(':') ? 96 : 0),
          isIpv4 ? 'ipv4' : 'ipv6',
        )
      }
      const isIpv4 = read?.bits === 32
      const bytes = [24n, 16n, 8n, 0n].map(shift => ((read?.value ?? 0n) >> shift) & 255n).join('.')
      const has = isIpv4 ? list.check(bytes, 'ipv4') : list.check(asked, 'ipv6')
      assert.equal(place(ranges, asked), has ? 'inside' : 'outside', `${asked} in ${ranges}`)
    }),
    { numRuns: 1_000 },
  )
})

test('a text is an address exactly where Node says so', () => {
  const character = fc.constantFrom(...'0123456789abcdefABCDEFg:::...% /[]x\0é')
  const text = fc.oneof(
    fc.array(character, { maxLength: 24 }).map(each => each.join('')),
    fc.tuple(address, fc.nat(), character).map(([whole, at, other]) => {
      const cut = at % (whole.length + 1)
      return whole.slice(0, cut) + other + whole.slice(cut + (at % 2))
    }),
  )
  fc.assert(
    fc.property(text, given => {
      // Node takes fewer characters in a zone.
      const isAddress = isIP(given) !== 0
      if (given.includes('%')) return
      assert.equal(
        place(['0.0.0.0/0', '::/0'], given),
        isAddress ? 'inside' : 'unknown',
        JSON.stringify(given),
      )
    }),
    { numRuns: 5_000 },
  )
})

test('the edges of a range, and the longest and shortest ones', () => {
  for (const [ranges, asked, expected] of [
    [['203.0.113.0/24'], '203.0.113.255', 'inside'],
    [['203.0.113.0/24'], '203.0.114.0', 'outside'],
    [['128.0.0.0/1'], '255.255.255.255', 'inside'],
    [['128.0.0.0/1'], '127.255.255.255', 'outside'],
    [['203.0.113.7/32'], '203.0.113.7', 'inside'],
    [['203.0.113.7/32'], '203.0.113.6', 'outside'],
    [['0.0.0.0/0'], '255.255.255.255', 'inside'],
    [['0.0.0.0/0'], '::1', 'outside'],
    [['::/0'], '192.0.2.1', 'outside'],
    [['::/0'], '::ffff:192.0.2.1', 'outside'],
    [['::/0'], '::192.0.2.1', 'inside'],
    [['192.0.2.0/24'], '::ffff:192.0.2.1', 'inside'],
    [['192.0.2.0/24'], '::FFFF:c000:201', 'inside'],
    [['192.0.2.0/24'], '0:0:0:0:0:ffff:192.0.2.1', 'inside'],
    [['192.0.2.0/24'], '::192.0.2.1', 'outside'],
    [['192.0.2.0/24'], '::fffe:192.0.2.1', 'outside'],
    [['::ffff:192.0.2.0/120'], '192.0.2.77', 'inside'],
    [['::ffff:0:0/96'], '8.8.8.8', 'inside'],
    [['2001:db8::/32'], '2001:DB8:ffff:ffff:ffff:ffff:ffff:ffff', 'inside'],
    [['2001:db8::/32'], '2001:db9::', 'outside'],
    [['2001:db8::/33'], '2001:db8:8000::', 'outside'],
    [['2001:db8::1/128'], '2001:0db8::0001', 'inside'],
    [['2001:db8::1/128'], '2001:db8::', 'outside'],
    [['fe80::/10'], 'fe80::1%eth0', 'inside'],
    [['fe80::/10'], 'fe80::1%br-0_1.7', 'inside'],
    [['192.0.2.0/24'], '::ffff:192.0.2.1%eth0', 'inside'],
  ] as const)
    assert.equal(place(ranges, asked), expected, `${asked} in ${ranges}`)
})

test('what is no address is unknown', () => {
  for (const text of [
    '',
    ' ',
    '1.2.3',
    '1.2.3.4.5',
    '010.0.0.1',
    '1.2.3.04',
    '00.0.0.0',
    '256.0.0.1',
    '1.2.3.4 ',
    ' 1.2.3.4',
    '1.2.3.4:80',
    '[::1]',
    '[::1]:80',
    '::1:',
    ':::',
    ':',
    '1::2::3',
    '12345::',
    '1:2:3:4:5:6:7',
    '::%',
    '1:2:3:4:5:6:7:8::',
    '1:2:3:4::5:6:7:8',
    '1:2:3:4:5:6:7:8:9',
    'fe80::1%',
    'fe80::1%a%b',
    'fe80::1% a',
    '1.2.3.4%eth0',
    '1.2.3.4%:',
    '::1.2.3',
    '1:2:3:4:5:6:7:1.2.3.4',
    '::1.2.3.4:1',
    '0x7f.0.0.1',
    '1.2.3.4/32',
    'localhost',
    'unix:',
    '::g',
    `${'0'.repeat(1_000)}::1`,
    undefined,
    null,
    7,
    {},
    ['1.2.3.4'],
  ])
    assert.equal(place(['0.0.0.0/0', '::/0'], text), 'unknown', String(text))
})

test('a list with anything but ranges is no list', () => {
  for (const list of [
    'all',
    null,
    {},
    7,
    [7],
    [null],
    [[]],
    ['x'],
    ['192.0.2.1'],
    ['192.0.2.0/33'],
    ['192.0.2.0/-1'],
    ['192.0.2.0/'],
    ['192.0.2.0/024'],
    ['192.0.2.0/+24'],
    ['192.0.2.0/24 '],
    ['192.0.2.1/24'],
    ['::/129'],
    ['::1/64'],
    ['fe80::1%a/128'],
    ['::ffff:192.0.2.0/95'],
    ['::ffff:192.0.2.1/120'],
    ['192.0.2.0/24/8'],
    ['/24'],
    ['192.0.2.0/24', 'x'],
    Array(33).fill('192.0.2.0/24'),
  ])
    assert.equal(Networks.read(list), undefined, JSON.stringify(list))
  assert.equal(place(Array(32).fill('192.0.2.0/24'), '192.0.2.1'), 'inside')
  assert.equal(Networks.read([])?.isEmpty, true)
})

test('no address is inside a list that cannot be read, and none has to be known', () => {
  for (const address of ['192.0.2.1', '', undefined])
    assert.equal(Networks.unreadable.place(address), 'outside')
})

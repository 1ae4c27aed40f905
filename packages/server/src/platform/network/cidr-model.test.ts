import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isInside, networkText, readNetwork } from './cidr.ts'
import { readAddress } from './client-address.ts'

/** A second implementation, from numbers alone: an address is its version and its value. */
interface Model {
  readonly version: 4 | 6
  readonly value: bigint
}
const width = { 4: 32n, 6: 128n } as const
const mapped = 0xffff00000000n

/** What an address means: a mapped one is the IPv4 address. */
const meaningOf = ({ version, value }: Model): Model =>
  version === 6 && value >> 32n === mapped >> 32n
    ? { version: 4, value: value & 0xffffffffn }
    : { version, value }

/** A range as first and last address; a mapped range of 96 bits or more is the IPv4 range. */
function rangeOf({ version, value }: Model, bits: number) {
  const free = width[version] - BigInt(bits)
  const first = (value >> free) << free
  const last = first | ((1n << free) - 1n)
  return version === 6 && bits >= 96 && first >> 32n === mapped >> 32n
    ? { version: 4 as const, first: first & 0xffffffffn, last: last & 0xffffffffn, bits: bits - 96 }
    : { version, first, last, bits }
}

const has = ({ version, first, last }: ReturnType<typeof rangeOf>, address: Model) => {
  const asked = meaningOf(address)
  return asked.version === version && asked.value >= first && asked.value <= last
}

const dotted = (value: bigint) => [24n, 16n, 8n, 0n].map(by => String((value >> by) & 255n)).join('.')
const groupsOf = (value: bigint) =>
  Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))

/** The ways in which people write an IPv6 address. `how` chooses among them. */
function written6(value: bigint, how: number): string {
  const groups = groupsOf(value)
  const full = groups.map(group => (how % 2 === 0 ? group : group.padStart(4, '0')))
  const text =
    how % 3 === 0
      ? full.join(':')
      : how % 3 === 1
        ? shortened(full)
        : `${full.slice(0, 6).join(':')}:${dotted(value & 0xffffffffn)}`
  return how % 5 === 0 ? text.toUpperCase() : text
}

/** The first run of zero groups, of at least two, becomes `::`. */
function shortened(groups: readonly string[]): string {
  const isZero = groups.map(group => /^0+$/.test(group))
  const from = isZero.findIndex((zero, i) => zero && isZero[i + 1] === true)
  if (from < 0) return groups.join(':')
  const next = isZero.indexOf(false, from)
  const to = next < 0 ? groups.length : next
  return `${groups.slice(0, from).join(':')}::${groups.slice(to).join(':')}`
}

const textOf = ({ version, value }: Model, how: number) =>
  version === 4 ? dotted(value) : written6(value, how)

const model = fc.oneof(
  fc.bigInt(0n, 2n ** 32n - 1n).map((value): Model => ({ version: 4, value })),
  fc.bigInt(0n, 2n ** 128n - 1n).map((value): Model => ({ version: 6, value })),
  fc.bigInt(0n, 2n ** 32n - 1n).map((value): Model => ({ version: 6, value: mapped | value })),
  // The deprecated compatible form, and what lies beside the mapped addresses.
  fc.bigInt(0n, 2n ** 32n - 1n).map((value): Model => ({ version: 6, value })),
  fc.constantFrom<Model>(
    { version: 6, value: mapped - 1n },
    { version: 6, value: mapped + 2n ** 32n },
    { version: 6, value: 2n ** 128n - 1n },
    { version: 4, value: 2n ** 32n - 1n },
    { version: 4, value: 0n },
    { version: 6, value: 0n },
  ),
)
const how = fc.nat({ max: 29 })
const lengths = { 4: [0, 1, 8, 31, 32], 6: [0, 1, 64, 95, 96, 97, 127, 128] } as const

test('ranges and addresses of every form are judged as by numbers alone', () => {
  fc.assert(
    fc.property(model, fc.nat(), fc.boolean(), model, how, how, (base, draw, isEdge, other, as, also) => {
      const bits = isEdge
        ? (lengths[base.version][draw % lengths[base.version].length] ?? 0)
        : draw % (Number(width[base.version]) + 1)
      const free = width[base.version] - BigInt(bits)
      const start = { ...base, value: (base.value >> free) << free }
      const range = rangeOf(base, bits)
      const network = readNetwork(`${textOf(start, as)}/${bits}`)
      assert.ok(typeof network !== 'string', `${textOf(start, as)}/${bits}: ${network}`)
      assert.equal(network.bits, range.bits)
      // The canonical form is read as the same range, and written as itself.
      const text = networkText(network)
      assert.deepEqual(readNetwork(text), network)
      assert.equal(readAddress(text.replace(/\/.*/, '')) !== null, true)
      const most = 2n ** width[range.version] - 1n
      const near = [range.first, range.last, range.first - 1n, range.last + 1n]
        .filter(value => value >= 0n && value <= most)
        .map((value): Model => ({ version: range.version, value }))
      const asked = [...near, other, meaningOf(other), base]
      for (const address of asked) {
        const forms =
          address.version === 4
            ? [address, { version: 6 as const, value: mapped | address.value }]
            : [address]
        for (const form of forms) {
          const expected = has(range, form)
          assert.equal(isInside([network], textOf(form, also)), expected, `${textOf(form, also)} in ${text}`)
          // The service reads the address of a request first: brackets, ports and zones go.
          const read = (given: string) => readAddress(given) ?? undefined
          assert.equal(isInside([network], read(textOf(form, also))), expected)
          if (form.version === 6)
            assert.equal(isInside([network], read(`${textOf(form, also)}%eth0`)), expected)
        }
      }
    }),
    { numRuns: 3_000 },
  )
})

test('a bit after the prefix is refused, whichever it is', () => {
  fc.assert(
    fc.property(model, fc.nat(), fc.nat(), how, (base, draw, place, as) => {
      const bits = draw % Number(width[base.version])
      const free = width[base.version] - BigInt(bits)
      const stray = 1n << (BigInt(place) % free)
      const value = ((base.value >> free) << free) | stray
      assert.match(
        String(readNetwork(`${textOf({ ...base, value }, as)}/${bits}`)),
        /bits set after its prefix/,
      )
    }),
    { numRuns: 1_000 },
  )
})

test('leading zeros, zones, ports and spaces are in no range and no address of one', () => {
  fc.assert(
    fc.property(model, how, ({ version, value }, as) => {
      const text = textOf({ version, value }, as)
      const everywhere = [readNetwork('0.0.0.0/0'), readNetwork('::/0')].filter(
        one => typeof one !== 'string',
      )
      const odd = version === 4 ? [`0${text}`, `${text}:80`] : [`${text}%eth0/128`, `[${text}]`, `${text}:`]
      for (const given of [...odd, ` ${text}`, `${text} `, `${text}\n`]) {
        assert.equal(typeof readNetwork(given), 'string', given)
        assert.equal(isInside(everywhere, given), false, given)
      }
    }),
  )
})

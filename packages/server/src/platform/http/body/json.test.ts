import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { faultByWalk } from '../../../../test/json-oracle.ts'
import { Refusal } from '../../refusal.ts'
import { jsonBounds, parseJson, parseOddJson } from './json.ts'

const parse = (text: string) => parseJson(Buffer.from(text))
function refusalOf(text: string | Buffer): { code: string; detail: string } {
  try {
    parseJson(Buffer.from(text as string))
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
    return { code: error.code, detail: error.message }
  }
  return assert.fail(`${String(text).slice(0, 100)} was taken`)
}

test('ordinary JSON is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'grapheme', maxDepth: 8 }), text => {
      // NUL, and whole numbers that a double may not hold exactly, are refused.
      fc.pre(!text.includes('\\u0000') && !/(?<![\d.e+-])-?\d{16,}(?![\d.e])/i.test(text))
      assert.deepEqual(parse(text), JSON.parse(text))
    }),
  )
})

test('no text makes it throw anything but a refusal', () => {
  const brackets = fc.string({
    unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', '1', 'a', ' ', 'null'),
  })
  fc.assert(
    fc.property(fc.oneof(brackets, fc.string()), text => {
      try {
        assert.deepEqual(parse(text), JSON.parse(text))
      } catch (error) {
        assert.ok(error instanceof Refusal)
      }
    }),
    { numRuns: 2000 },
  )
})

test('a duplicate member is refused at any level and in any spelling', () => {
  assert.equal(refusalOf('{"a":1,"a":2}').detail, 'a: is given twice')
  assert.equal(refusalOf('{"x":[{"b":1,"\\u0062":2}]}').detail, 'x.0.b: is given twice')
  assert.deepEqual(parse('{"a":{"b":1},"b":{"a":1}}'), { a: { b: 1 }, b: { a: 1 } })
})

test('32 levels are accepted, 33 are not, and deep nesting costs no stack', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  assert.ok(parse(nested(32)))
  for (const depth of [33, 500_000]) assert.equal(refusalOf(nested(depth)).code, 'malformed_json')
  assert.deepEqual(parse(`{"a":"${'['.repeat(100)}"}`), { a: '['.repeat(100) })
})

test('NUL and unpaired surrogates are refused by path, in values and in names', () => {
  assert.deepEqual(refusalOf('{"a":["x","\\u0000"]}'), {
    code: 'validation_failed',
    detail: 'a.1: must not contain NUL',
  })
  assert.match(refusalOf('{"a":"\\ud800"}').detail, /^a: must not contain an unpaired/)
  assert.match(refusalOf('{"\\udc00":1}').detail, /must not contain an unpaired/)
  assert.deepEqual(parse('{"a":"\\ud83d\\ude00"}'), { a: '\u{1f600}' })
})

test('a byte-order mark, invalid UTF-8, and text after the end are refused', () => {
  assert.equal(refusalOf('\uFEFF{}').code, 'malformed_json')
  assert.equal(refusalOf(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])).code, 'malformed_json')
  for (const text of ['', '{', '{} {}', "{'a':1}", '{"a":1,}', '// x\n{}', '[1,]', 'NaN', '{"a":01}']) {
    assert.equal(refusalOf(text).code, 'malformed_json', text)
  }
})

test('a number that a double cannot hold is refused by its path, not rounded', () => {
  assert.match(refusalOf('{"a":1e400}').detail, /^a: /)
  assert.match(refusalOf('{"a":[9007199254740993]}').detail, /^a.0: /)
  assert.deepEqual(parse('{"a":9007199254740991,"b":-1.5e-7}'), { a: 9007199254740991, b: -1.5e-7 })
})

test('names of the prototype are ordinary names', () => {
  const parsed = parse('{"__proto__":{"polluted":1},"constructor":2}') as object
  assert.deepEqual(Object.keys(parsed), ['__proto__', 'constructor'])
  assert.equal(({} as { polluted?: number }).polluted, undefined)
})

/** Texts with everything that the scan looks for, in every place where it can occur. */
const piece = fc.constantFrom(
  'a',
  'b',
  'é',
  '\u{1f600}',
  '\\\\',
  '\\"',
  '\\/',
  '\\n',
  '\\u0061',
  '\\u0062',
  '\\u0000',
  '\\ud83d',
  '\\ude00',
  '\\ud83d\\ude00',
  '\\uD83D',
  '\\\\u0000',
  '{[,:]}',
)
const literal = fc.array(piece, { maxLength: 4 }).map(pieces => `"${pieces.join('')}"`)
const number = fc.constantFrom(
  ...[
    '0',
    '-0',
    '1',
    '-1.5',
    '1e2',
    '1E+2',
    '1e400',
    '-1e400',
    '1e-400',
    '9007199254740991',
    '9007199254740992',
  ],
  ...['-9007199254740993', '123456789012345678901.5', '12345678901234567890e1', '0.12345678901234567890'],
)
const space = fc.constantFrom('', '', '', ' ', '\n\t')
const oddText = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(literal, number, fc.constantFrom('true', 'false', 'null')),
    fc
      .tuple(fc.array(tie('value'), { maxLength: 4 }), space)
      .map(([inner, blank]) => `[${blank}${inner.join(`${blank},`)}${blank}]`),
    fc
      .tuple(fc.array(fc.tuple(literal, tie('value')), { maxLength: 12 }), space)
      .map(
        ([inner, blank]) =>
          `{${blank}${inner.map(([name, value]) => `${name}${blank}:${blank}${value}`).join(`${blank},${blank}`)}}`,
      ),
  ),
})).value

test('the scan finds the same first fault as another parser’s walk', () => {
  const found = new Map<string, number>()
  fc.assert(
    fc.property(oddText, text => {
      const expected = faultByWalk(text)
      let heard: string | null = null
      try {
        assert.deepEqual(parse(text), JSON.parse(text))
      } catch (error) {
        assert.ok(error instanceof Refusal, String(error))
        heard = error.detail
      }
      assert.equal(heard, expected)
      const kind = expected?.replace(/^.*: /s, '') ?? 'none'
      found.set(kind, (found.get(kind) ?? 0) + 1)
    }),
    { numRuns: 5_000 },
  )
  // Every fault occurred, so the comparison covered them all.
  assert.deepEqual([...found.keys()].toSorted(), [
    'is an integer beyond 2^53; send it as a string',
    'is given twice',
    'is too large a number',
    'must not contain NUL',
    'must not contain an unpaired surrogate',
    'none',
  ])
})

test('an object with too many members is refused by its path, and never parsed', () => {
  const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join(',')}}`
  const { membersMax, valuesMax } = jsonBounds
  assert.ok(parse(`{"meta":${members(membersMax)}}`))
  const { code, detail } = refusalOf(`{"a":[{},{"meta":${members(membersMax + 1)}}]}`)
  assert.deepEqual([code, detail], ['validation_failed', 'a.1.meta: must have at most 1024 members a level'])
  assert.equal(refusalOf(members(membersMax + 1)).detail, 'body: must have at most 1024 members a level')
  const values = (count: number) => `[${Array.from({ length: count }, () => '1').join(',')}]`
  assert.ok(parse(values(valuesMax - 1)))
  assert.match(refusalOf(values(valuesMax)).detail, /^body: must have at most 65536 values/)
  const { parse: ordinary } = JSON
  let made = 0
  JSON.parse = (...args: Parameters<typeof ordinary>) => {
    made += 1
    return ordinary(...args)
  }
  try {
    refusalOf(members(membersMax + 1))
    refusalOf(`[${'{},'.repeat(valuesMax)}{}]`)
    refusalOf('['.repeat(33))
    assert.equal(made, 0)
  } finally {
    JSON.parse = ordinary
  }
})

test('parseOddJson keeps odd parts, and has the same bounds on depth and form', () => {
  const odd = '[{"a":1,"a":2},"\\u0000","\\ud800",9007199254740993,1e400,"\xff"]'
  assert.deepEqual(parseOddJson(Buffer.from(odd, 'latin1')), [
    { a: 2 },
    '\0',
    '\ud800',
    9007199254740992,
    Number.POSITIVE_INFINITY,
    '\uFFFD',
  ])
  for (const text of ['', '{', '\uFEFF[]', '[1,]', '['.repeat(500_000), '['.repeat(33) + ']'.repeat(33)]) {
    assert.throws(
      () => parseOddJson(Buffer.from(text)),
      error => error instanceof Refusal && error.code === 'malformed_json',
      text.slice(0, 100),
    )
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameFault } from './names.ts'

const blank = 'must have at least one visible character'
const control = (point: string) => `must not have the unprintable character ${point}`
const turning = (point: string) => `must not have ${point}, which changes the direction of text`

test('a name has at least one character that a person sees', () => {
  const invisible = {
    nothing: '',
    'a space': ' ',
    'spaces of every width': '\u00a0\u1680\u2000\u200a\u202f\u205f\u3000',
    'zero-width characters': '\u200b\u200c\u200d\u2060\ufeff',
    'marks of direction': '\u200e\u200f\u061c',
    'a soft hyphen': '\u00ad',
    'a combining mark': '\u0301',
    'a combining mark on a space': ' \u0301',
    'an enclosing mark': '\u20dd',
    'a spacing mark': '\u0903',
    'fillers of Hangul': '\u115f\u1160\u3164\uffa0',
    'a blank cell of braille': '\u2800',
    'a blank note head': '\u{1d159}',
    'blanks of hieroglyphs': '\u{13441}\u{13442}',
    tags: '\u{e0001}\u{e0041}\u{e007f}',
    'selectors of variants': '\ufe0f\u{e0100}\u180b',
    'invisible operators': '\u2061\u2064',
    'a joiner of graphemes': '\u034f',
  }
  for (const [what, text] of Object.entries(invisible)) assert.equal(nameFault(text), blank, what)
})

test('a name has no control character, no end of a line and no noncharacter', () => {
  const refused: Record<string, string> = {
    '\0': 'U+0000',
    '\t': 'U+0009',
    '\n': 'U+000A',
    '\r': 'U+000D',
    '\u001b': 'U+001B',
    '\u007f': 'U+007F',
    '\u0085': 'U+0085',
    '\u009b': 'U+009B',
    '\u2028': 'U+2028',
    '\u2029': 'U+2029',
    '\ud800': 'U+D800',
    '\udfff': 'U+DFFF',
    '\ufdd0': 'U+FDD0',
    '\uffff': 'U+FFFF',
    '\u{1fffe}': 'U+1FFFE',
    '\u{10ffff}': 'U+10FFFF',
  }
  for (const [character, point] of Object.entries(refused)) {
    for (const text of [character, `a${character}`, `${character}a`, `a${character}a`])
      assert.equal(nameFault(text), control(point), point)
  }
})

test('a name has nothing that overrides, embeds or isolates a direction', () => {
  for (const point of ['202A', '202B', '202C', '202D', '202E', '2066', '2067', '2068', '2069']) {
    const character = String.fromCodePoint(Number.parseInt(point, 16))
    assert.equal(nameFault(`invoice${character}fdp.exe`), turning(`U+${point}`))
  }
})

test('names of every script are taken, with the invisible characters that belong to them', () => {
  for (const text of [
    'Build server',
    'Zoë O’Brien',
    '支払い　サーバー',
    'می‌خواهم',
    'क्‍ष',
    'مفتاح الإنتاج',
    'שרת\u200f (prod)',
    'ABC \u200eשרת',
    '\u061c١٢٣',
    'e\u0301',
    '👩‍💻',
    '❤️',
    '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
    '1️⃣',
    '한글',
    'co\u00adoperate',
    '0',
    '.',
    '-',
    '\u2801',
    // A private character, and one that Unicode has not given out yet.
    '\uf8ff',
    '\u{1fbfe}',
  ])
    assert.equal(nameFault(text), null, text)
})

test('the time for a name grows with its length only', () => {
  for (const text of [' '.repeat(1_000_000), `${'a'.repeat(1_000_000)}\n`, `${' '.repeat(1_000_000)}\u202e`])
    assert.notEqual(nameFault(text), null)
})

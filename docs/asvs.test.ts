import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceFiles, sourceFiles } from '../packages/server/test/source-files.ts'
import { readMet } from './asvs-met.ts'
import { readDocument, section, tableOf } from './documents.ts'

/** The levels of the requirements of ASVS 5.0.0, section by section, in their order: the first of `1.2` is `1.2.1`. */
const levels: Record<string, string> = {
  '1.1': '22',
  '1.2': '1111122223',
  '1.3': '112222222223',
  '1.4': '222',
  '1.5': '123',
  '2.1': '122',
  '2.2': '112',
  '2.3': '12223',
  '2.4': '23',
  '3.1': '3',
  '3.2': '113',
  '3.3': '12223',
  '3.4': '11222233',
  '3.5': '11122333',
  '3.6': '3',
  '3.7': '22333',
  '4.1': '12233',
  '4.2': '23333',
  '4.3': '22',
  '4.4': '1222',
  '5.1': '2',
  '5.2': '112333',
  '5.3': '113',
  '5.4': '222',
  '6.1': '122',
  '6.2': '111111112222',
  '6.3': '11223333',
  '6.4': '112233',
  '6.5': '22222333',
  '6.6': '2223',
  '6.7': '33',
  '6.8': '2222',
  '7.1': '222',
  '7.2': '1111',
  '7.3': '22',
  '7.4': '11222',
  '7.5': '223',
  '7.6': '22',
  '8.1': '1233',
  '8.2': '1123',
  '8.3': '133',
  '8.4': '23',
  '9.1': '111',
  '9.2': '1222',
  '10.1': '22',
  '10.2': '223',
  '10.3': '22223',
  '10.4': '1111122222233333',
  '10.5': '22222',
  '10.6': '22',
  '10.7': '222',
  '11.1': '2233',
  '11.2': '22233',
  '11.3': '11233',
  '11.4': '1222',
  '11.5': '23',
  '11.6': '23',
  '11.7': '33',
  '12.1': '12233',
  '12.2': '11',
  '12.3': '22223',
  '13.1': '2333',
  '13.2': '222223',
  '13.3': '2233',
  '13.4': '1222233',
  '14.1': '22',
  '14.2': '12223333',
  '14.3': '122',
  '15.1': '12233',
  '15.2': '12233',
  '15.3': '1222222',
  '15.4': '3333',
  '16.1': '2',
  '16.2': '22222',
  '16.3': '2222',
  '16.4': '222',
  '16.5': '2223',
  '17.1': '23',
  '17.2': '22223333',
  '17.3': '22',
}

const page = readDocument('docs/asvs.md')
const met = readMet(readDocument('docs/asvs-met.csv'))
const unmet = tableOf(section(page, 'Not met'))
const reasons = tableOf(section(page, 'Does not apply'))

/** Every requirement of levels 1 and 2, in the order of the standard. */
const wanted = Object.entries(levels)
  .flatMap(([part, all]) => [...all].map((level, i) => ({ id: `${part}.${i + 1}`, level })))
  .filter(({ level }) => level !== '3')
const ids = wanted.map(({ id }) => id)

/** `1.2.6–1.2.8, 1.5.1`: a range is inclusive, in the order of the standard. */
const spread = (cell: string): string[] =>
  cell.split(', ').flatMap(part => {
    const [first = '', last = first] = part.split('–')
    return ids.slice(ids.indexOf(first), ids.indexOf(last) + 1)
  })
const byVerdict = [
  met.map(({ id }) => id),
  unmet.map(([id = '']) => id),
  reasons.flatMap(([, cell = '']) => spread(cell)),
]

test('page and file have every requirement of levels 1 and 2 once, with its level', () => {
  const inOrder = (some: string[]) => some.toSorted((a, b) => ids.indexOf(a) - ids.indexOf(b))
  assert.deepEqual(inOrder(byVerdict.flat()), ids)
  const [first = [], second = []] = byVerdict
  for (const some of [first, second]) assert.deepEqual(some, inOrder(some))
  const stated = [...met, ...unmet.map(([id = '', level = '']) => ({ id, level }))]
  for (const { id, level } of stated)
    assert.ok(
      wanted.some(one => one.id === id && one.level === level),
      id,
    )
})

test('a requirement that is not met has its text, and what there is instead', () => {
  for (const [id, , asked, instead = ''] of unmet) {
    assert.notEqual(asked, '', id)
    assert.match(instead, /\w{2,}/, id)
  }
  for (const [reason = '', cell] of reasons) assert.match(reason, /\w{2,}/, cell)
})

test('a met requirement has its text and names tests that exist', () => {
  for (const { id, asked, tests } of met) {
    assert.notEqual(asked, '', id)
    assert.ok(tests.length > 0, `${id} names no test`)
    for (const { file, name } of tests) {
      const title = new RegExp(`\\btest\\(\\s*(['"\`])(?:(?!\\1).)*${escaped(name)}`, 's')
      assert.match(readDocument(file), title, `${id}: ${name}`)
    }
  }
})

test('the counts of a chapter match the requirements', () => {
  const rows = tableOf(page)
  const counted = [...new Set(ids.map(id => id.split('.')[0]))].map(chapter =>
    byVerdict.map(some => some.filter(id => id.startsWith(`${chapter}.`)).length),
  )
  const sum = byVerdict.map(some => some.length)
  assert.deepEqual(
    rows.map(([, ...cells]) => cells.map(Number)),
    [...counted, sum],
  )
})

const browser = sourceFiles('packages/dashboard/src/**/*.{ts,tsx}')

test('no source turns text into code or HTML', () => {
  assert.ok(browser.length > 50)
  for (const { path, code } of [...serviceFiles(), ...browser]) {
    assert.doesNotMatch(code, /\beval\(|\bnew Function\(/, path)
    assert.doesNotMatch(
      code,
      /\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML)\b/,
      path,
    )
  }
})

test('only the session, the device token and the count of reloads are stored in the browser', () => {
  const using = (word: RegExp) =>
    browser
      .filter(({ code }) => word.test(code))
      .map(({ path }) => path.slice('packages/dashboard/src/'.length))
      .toSorted()
  const storage = 'session/storage.ts'
  assert.deepEqual(using(/\b(?:localStorage|sessionStorage|indexedDB|document\.cookie)\b/), [storage])
  assert.deepEqual(using(/\b(?:tabStorage|deviceStorage)\b/), [
    'missing-part.ts',
    'session/device.ts',
    storage,
    'session/token.ts',
  ])
})

test('no page prevents pasting or a password manager', () => {
  const fields = browser.flatMap(({ text }) => text.match(/<PasswordInput[^>]*>/g) ?? [])
  assert.ok(fields.length > 4)
  for (const field of fields) assert.match(field, /autoComplete="(?:new|current)-password"/)
  for (const { path, text } of browser) assert.doesNotMatch(text, /['"]paste['"]|onPaste/, path)
})

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

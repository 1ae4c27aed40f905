import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { optionNames, readOptions } from '../src/keyring/options.ts'
import { toHttpRefusal } from '../src/protect/refusal.ts'
import { refusalBy } from '../src/verify/ended-keys.ts'
import { type RefusalCode, refusals, refused } from '../src/verify/verdict.ts'
import { drawKey, id } from './keys.ts'

const checkout = join(import.meta.dirname, '..', '..', '..')
const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
const page = (name: string) => readFileSync(join(checkout, 'docs', 'sdk', `${name}.md`), 'utf8')

test('the README is short', () => {
  assert.ok(readme.split(/\s+/).length < 900)
})

test('links of the README work on npm, and their targets exist', () => {
  const ours = 'https://github.com/keyrail/keyrail/'
  const links = Array.from(readme.matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target)
  assert.ok(links.length > 5)
  for (const link of links) {
    assert.match(link, /^https:/)
    const [, path] = new RegExp(`^${ours}(?:blob|tree)/main/([^#]+)`).exec(link) ?? []
    if (link.startsWith(ours)) assert.ok(path !== undefined && existsSync(join(checkout, path)), link)
  }
  const pages = globSync('docs/sdk/*.md', { cwd: checkout })
  for (const each of pages) assert.ok(links.includes(`${ours}blob/main/${each}`), `${each} is linked`)
})

/** Rows of the table below a heading, without the backquotes. */
function table(name: string, heading: string): string[][] {
  const section = page(name).split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? assert.fail(heading)
  const rows = section.split('\n').filter(line => line.startsWith('| `'))
  return rows.map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim().replaceAll('`', '')),
  )
}

/** Why a key ends, as the statements of the service write it into the feed. Types may name causes of other releases. */
function causesSent(): string[] {
  const statement = readFileSync(join(checkout, 'packages/server/src/policy/cause.ts'), 'utf8')
  const causes = Array.from(statement.matchAll(/(?:then|else) '(\w+)'/g), ([, cause = '']) => cause)
  assert.ok(causes.includes('revoked'))
  return causes.toSorted()
}

test('the page of the feed lists the causes that the service sends', () => {
  const feed = readFileSync(join(checkout, 'docs/policy-feed.md'), 'utf8')
  const rows = feed.split('| `cause` ')[1]?.split('\n\n')[0] ?? assert.fail('it has no table of causes')
  assert.deepEqual(Array.from(rows.matchAll(/^\| `(.*?)` /gm), ([, cause]) => cause).toSorted(), causesSent())
})

test('the page lists every refusal that can occur in order, with its status in Express', () => {
  const rows = table('verify-keys', 'Verdicts').map(([code, , status]) => [code, Number(status)])
  const sent = new Set(causesSent().map(cause => refusalBy.get(cause)?.code))
  const neverSent = [...refusalBy.values()].map(({ code }) => code).filter(code => !sent.has(code))
  // Something else than a cause leads to each other refusal, as the tests of verification show.
  const codes = (Object.keys(refusals) as RefusalCode[]).filter(code => !neverSent.includes(code))
  assert.deepEqual(
    rows,
    codes.map(code => [code, toHttpRefusal(refused[code]).status]),
  )
})

test('the page lists every option, with its default', () => {
  const rows = table('deployment', 'Options')
  assert.deepEqual(
    rows.map(([name]) => name),
    optionNames,
  )
  const least = { url: 'https://keys.example.com', secretKey: drawKey('krsk_live'), project: id(1) }
  const settings = readOptions(least) as unknown as Record<string, unknown>
  for (const [name = '', value = ''] of rows) {
    if (/^\d+$/.test(value)) assert.equal(settings[name], Number(value), name)
    if (value === 'required')
      assert.throws(() => readOptions({ ...least, [name]: undefined }), TypeError, name)
  }
})

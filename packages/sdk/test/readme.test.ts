import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { optionNames, readOptions } from '../src/keyring/options.ts'
import { toHttpRefusal } from '../src/protect/refusal.ts'
import { type RefusalCode, refusals, refused } from '../src/verify/verdict.ts'
import { drawKey, id } from './keys.ts'

const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')

/** Rows of the table below a heading, without the backquotes. */
function table(heading: string): string[][] {
  const section = readme.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? assert.fail(heading)
  const rows = section.split('\n').filter(line => line.startsWith('| `'))
  return rows.map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim().replaceAll('`', '')),
  )
}

test('the README lists every refusal in the order in which they are told, with the status that Express answers', () => {
  const rows = table('Verdicts').map(([code, , status]) => [code, Number(status)])
  const codes = Object.keys(refusals) as RefusalCode[]
  assert.deepEqual(
    rows,
    codes.map(code => [code, toHttpRefusal(refused[code]).status]),
  )
})

test('the README lists every option, with its default', () => {
  const rows = table('Options')
  assert.deepEqual(
    rows.map(([name]) => name),
    optionNames,
  )
  const least = { baseUrl: 'https://keys.example.com', secretKey: drawKey('krsk_live'), projectId: id(1) }
  const settings = readOptions(least) as unknown as Record<string, unknown>
  for (const [name = '', value = ''] of rows) {
    if (/^\d+$/.test(value)) assert.equal(settings[name], Number(value), name)
    if (value === 'required')
      assert.throws(() => readOptions({ ...least, [name]: undefined }), TypeError, name)
  }
})

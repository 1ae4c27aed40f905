import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formats } from '../packages/server/src/cli/keys/import/formats.ts'
import { documents, readDocument, tableOf } from './documents.ts'

const commandOf = (page: string, format: string): boolean =>
  readDocument(`docs/migrate/${page}`)
    .split('\n')
    .some(
      line =>
        line.startsWith('keyrail keys import ') &&
        (format === 'keyrail' ? !line.includes('--format') : line.includes(` --format ${format} `)),
    )

test('the pages on migrating list every format as the command does, each with its command', () => {
  const rows = tableOf(readDocument('docs/migrate/README.md')).map(([name, what, page]) => [
    name,
    what,
    /\(([\w-]+\.md)/.exec(page ?? '')?.[1],
  ])
  assert.deepEqual(
    rows,
    Object.entries(formats).map(([name, { what, page }]) => [`\`${name}\``, what, page]),
  )
  for (const [name, { page }] of Object.entries(formats)) assert.ok(commandOf(page, name), name)
})

test('the list of documents names each page on migrating', () => {
  const list = readDocument('docs/README.md')
  const pages = documents.filter(path => path.startsWith('docs/migrate/'))
  assert.equal(pages.length, 8)
  for (const path of pages) assert.ok(list.includes(`(${path.replace('docs/', '')})`), path)
})

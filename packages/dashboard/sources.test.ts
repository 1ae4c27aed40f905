import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readContents } from './guides/contents.ts'
import { guidePages, listSources } from './sources.ts'

const checkout = join(import.meta.dirname, '..', '..')

test('each guide is a source of the build, so that a change of one is built', () => {
  const sources = new Set(listSources())
  const guides = [...readContents(checkout).pages.keys()]
  assert.ok(guides.length > 20)
  assert.deepEqual(
    guides.filter(source => !sources.has(source)),
    [],
    `sources.ts names the folders of guides: ${guidePages}`,
  )
})

test('each page of the folders of guides is one, and its name stands in the contents', () => {
  const { pages } = readContents(checkout)
  assert.deepEqual(
    globSync(guidePages, { cwd: checkout }).filter(source => !pages.has(source)),
    [],
  )
})

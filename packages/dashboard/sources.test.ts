import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { readContents } from './guides/contents.ts'
import { guidePages, listSources } from './sources.ts'

test('each guide is a source of the build, so that a change of one is built', () => {
  const sources = new Set(listSources())
  const guides = [...readContents(join(import.meta.dirname, '..', '..')).pages.keys()]
  assert.ok(guides.length > 20)
  assert.deepEqual(
    guides.filter(source => !sources.has(source)),
    [],
    `sources.ts names the folders of guides: ${guidePages}`,
  )
})

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { settings } from '../packages/server/src/settings.ts'
import { root } from '../packages/server/test/installation.ts'

const files = readdirSync(join(root, 'deploy'), { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && !entry.name.endsWith('.ts'))
  .map(entry => join(entry.parentPath, entry.name))

test('every setting that a file for operators names is a setting of the service', () => {
  let named = 0
  for (const path of files) {
    for (const [name] of readFileSync(path, 'utf8').matchAll(
      /\b(?:SERVICE|DATABASE|REDIS)_[A-Z_]*[A-Z]\b/g,
    )) {
      assert.ok(name in settings || name.replace(/_FILE$/, '') in settings, `${path}: ${name}`)
      named += 1
    }
  }
  assert.ok(named > 10)
})

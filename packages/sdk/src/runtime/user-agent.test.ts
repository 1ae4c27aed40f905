import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sdkVersion, userAgent } from './user-agent.ts'

test('the user agent has the version of the package and the runtime', () => {
  const file = join(import.meta.dirname, '..', '..', 'package.json')
  assert.equal(sdkVersion, JSON.parse(readFileSync(file, 'utf8')).version)
  assert.equal(userAgent, `keyrail-sdk/${sdkVersion} node/${process.versions.node}`)
})

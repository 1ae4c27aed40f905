import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { FAST_PLACE } from '../../../../test/embedded-service.ts'
import { refuseMisnamed, refuseOtherMajor } from './version.ts'

let temp: string
before(() => {
  temp = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
})
after(() => rmSync(temp, { recursive: true, force: true }))

test('a database of another major version is refused with the commands to move it', () => {
  refuseOtherMajor(temp, 18)
  mkdirSync(join(temp, 'postgres', '17'), { recursive: true })
  assert.throws(
    () => refuseOtherMajor(temp, 18),
    error => {
      assert.ok(error instanceof Error)
      assert.equal(error.name, 'EmbeddedRefused')
      for (const step of [
        /with the release that made it: {2}keyrail backup keyrail\.backup$/m,
        new RegExp(`mv '${temp}/postgres/17' '${temp}/postgres-17-old'$`, 'm'),
        /with this release: {14}keyrail restore keyrail\.backup$/m,
      ]) {
        assert.match(error.message, step)
      }
      return true
    },
  )
  mkdirSync(join(temp, 'postgres', '18'))
  refuseOtherMajor(temp, 18)
})

test('a cluster in a folder with the wrong version is refused, and nothing starts on it', () => {
  const dataDirectory = join(temp, 'postgres', '18')
  writeFileSync(join(dataDirectory, 'PG_VERSION'), '16\n')
  assert.throws(
    () => refuseMisnamed(dataDirectory, 18),
    /holds a database of Postgres 16, not 18: rename it to 16/,
  )
  writeFileSync(join(dataDirectory, 'PG_VERSION'), '18\n')
  refuseMisnamed(dataDirectory, 18)
})

import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { FAST_PLACE } from '../../../../test/embedded-service.ts'
import { readLogFrom, rotateLog, sizeOfLog } from './server-log.ts'

let temp: string
before(() => {
  temp = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
})
after(() => rmSync(temp, { recursive: true, force: true }))

test('a large log is moved aside, and its writers continue in the emptied file', () => {
  const path = join(temp, 'large.log')
  const log = openSync(path, 'a')
  writeSync(log, 'x'.repeat(100))
  rotateLog(path, 100)
  assert.equal(sizeOfLog(path), 100)
  writeSync(log, 'y')
  rotateLog(path, 100)
  writeSync(log, 'after\n')
  closeSync(log)
  assert.equal(readFileSync(path, 'utf8'), 'after\n')
  assert.equal(sizeOfLog(`${path}.1`), 101)
})

test('the latest log lines are read, at most 4 KiB, even if the log was cut meanwhile', () => {
  const path = join(temp, 'read.log')
  const log = openSync(path, 'a')
  writeSync(log, 'before\n')
  const start = sizeOfLog(path)
  assert.equal(readLogFrom(path, start), '')
  writeSync(log, 'FATAL: no\n')
  assert.equal(readLogFrom(path, start), 'FATAL: no')
  writeSync(log, `${'z'.repeat(5000)}!`)
  closeSync(log)
  assert.equal(readLogFrom(path, start), `${'z'.repeat(4095)}!`)
  rotateLog(path, 10)
  assert.equal(readLogFrom(path, start), '')
})

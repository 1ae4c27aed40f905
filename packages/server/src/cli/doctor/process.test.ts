import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkProcesses } from './process.ts'

const find = (processes: number, cores: number, isProcessesAuto = false) =>
  checkProcesses({ processes, isProcessesAuto }, cores).map(({ status, message }) => [status, message])

test('several processes are named with the cores that they have, and too many are a warning', () => {
  assert.deepEqual(find(1, 8), [])
  assert.deepEqual(find(4, 4), [['ok', '4 share the port, and have 4 cores']])
  assert.deepEqual(find(2, 1), [['warning', '2 share the port, and have 1 core']])
  assert.deepEqual(find(4, 4, true), [['ok', 'up to 4 share the port, for 4 cores']])
  assert.deepEqual(find(1, 1, true), [['ok', 'one, for 1 core']])
})

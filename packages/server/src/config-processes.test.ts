import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'
import { coresOf } from './platform/host/cores.ts'

test('SERVICE_PROCESSES takes a number or auto, which is the cores that the service has', () => {
  const read = (text: string) => {
    const { processes, isProcessesAuto } = readConfig({ SERVICE_PROCESSES: text }).config
    return [processes, isProcessesAuto]
  }
  assert.deepEqual(read('3'), [3, false])
  assert.deepEqual(read('auto'), [Math.min(64, coresOf()), true])
  for (const text of ['0', '65', 'all', '-1'])
    assert.throws(() => read(text), /SERVICE_PROCESSES must be a whole number from 1 to 64, or auto, not/)
})

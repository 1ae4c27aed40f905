import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startBusyProcesses } from './busy.ts'

/** Clock ticks that a process has computed for, in user mode. */
const computed = (pid: number) =>
  Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[11])

test('busy processes take processor time until they are ended', async () => {
  const busy = startBusyProcesses(2)
  try {
    assert.equal(busy.pids.length, 2)
    for (const pid of busy.pids) {
      for (const before = computed(pid); computed(pid) < before + 5; ) await setImmediate()
    }
  } finally {
    await busy.end()
  }
  for (const pid of busy.pids) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

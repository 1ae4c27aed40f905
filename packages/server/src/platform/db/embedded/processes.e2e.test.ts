import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { until } from '../../../../test/until.ts'
import { findProcess, isAlive, sendSignal, startOf } from './processes.ts'

test('a process is distinguished from another one, and known to be gone', async () => {
  const child = spawn('sleep', ['60'])
  const running = findProcess(child.pid ?? 0)
  assert.ok(running)
  assert.equal(isAlive(running), true)
  assert.equal(isAlive({ ...running, start: 'another' }), false)
  child.kill()
  await once(child, 'close')
  assert.equal(isAlive(running), false)
  assert.equal(findProcess(running.pid), undefined)
})

test('a signal reaches the intended process, never a later one with its pid', async () => {
  const child = spawn('sleep', ['60'])
  const running = findProcess(child.pid ?? 0)
  assert.ok(running)
  sendSignal({ ...running, start: 'another' }, 'SIGKILL')
  sendSignal(running, 'SIGTERM')
  const [, signal] = await once(child, 'close')
  assert.equal(signal, 'SIGTERM')
})

if (process.platform === 'linux') {
  test('a zombie that its parent does not collect counts as gone', async () => {
    // The shell starts a child and then becomes a program that never waits for it.
    const parent = spawn('sh', ['-c', 'sleep 0.05 & echo $!; exec sleep 60'])
    const pid = Number(String((await once(parent.stdout, 'data'))[0]))
    await until(() => startOf(pid) === undefined)
    assert.match(readFileSync(`/proc/${pid}/stat`, 'latin1'), /\) Z /)
    parent.kill()
  })
}

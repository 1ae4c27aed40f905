import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ended, tail } from './children.ts'
import { canPin, pinned, pinTree } from './pin.ts'

const allowed = (status: string) => /^Cpus_allowed_list:\s+(.+)$/m.exec(status)?.[1]

test('without a core, or without taskset, the command stays unchanged', () => {
  assert.deepEqual(pinned(null, 'node', ['a']), { command: 'node', args: ['a'] })
  assert.equal(pinned(1, 'node', []).command, canPin ? 'taskset' : 'node')
})

test('a pinned command runs on its core alone, under its pid', async () => {
  const print = `process.stdout.write(process.pid + ' ' + require('fs').readFileSync('/proc/self/status', 'utf8'))`
  const run = pinned(1, process.execPath, ['-e', canPin ? print : 'process.stdout.write(process.pid + " ")'])
  const child = spawn(run.command, run.args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const output = tail(child.stdout)
  assert.equal((await ended(child)).code, 0)
  assert.equal(Number.parseInt(output(), 10), child.pid)
  assert.equal(allowed(output()), canPin ? '1' : undefined)
})

test('a running process moves together with its children', async () => {
  const child = spawn('sh', ['-c', 'sleep 60 & echo $!; wait $!'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const started = Number(await new Promise(resolve => child.stdout.once('data', resolve)))
  try {
    assert.ok(child.pid)
    pinTree(child.pid, 0)
    if (canPin) {
      for (const pid of [child.pid, started])
        assert.equal(allowed(readFileSync(`/proc/${pid}/status`, 'utf8')), '0')
    }
  } finally {
    process.kill(started, 'SIGKILL')
    assert.equal((await ended(child)).code, 137)
  }
})

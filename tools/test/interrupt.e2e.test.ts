import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../../packages/server/test/until.ts'

const hanging = `
  import { spawn } from 'node:child_process'
  import { renameSync, writeFileSync } from 'node:fs'
  import { test } from 'node:test'
  test('never ends', async () => {
    const pids = [spawn('sleep', ['600']), spawn('sleep', ['600'], { detached: true })].map(({ pid }) => pid)
    writeFileSync(process.env.PLACE + '/written', [process.pid, ...pids].join(' '))
    renameSync(process.env.PLACE + '/written', process.env.PLACE + '/pids')
    await new Promise(() => setInterval(() => {}, 1000))
  })`

for (const [how, signal, code] of [
  ['Ctrl-C', 'SIGINT', 130],
  ['a terminal that closes', 'SIGHUP', 129],
] as const) {
  test(`${how} ends a run with all that it started, and leaves no file`, () => interrupt(signal, code))
}

async function interrupt(signal: NodeJS.Signals, code: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-interrupt-'))
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  const file = join(folder, 'hanging.e2e.test.mjs')
  writeFileSync(file, hanging)
  const program = fileURLToPath(new URL('../test.ts', import.meta.url))
  const run = spawn(process.execPath, [program, file], {
    env: { ...process.env, TMPDIR: temporary, PLACE: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  run.stdout.on('data', chunk => {
    printed += chunk
  })
  try {
    await until(() => existsSync(join(folder, 'pids')), 'the file runs')
    const pids = readFileSync(join(folder, 'pids'), 'utf8').split(' ').map(Number)
    run.kill(signal)
    assert.deepEqual(await once(run, 'close'), [code, null])
    for (const pid of pids) await until(() => !isRunning(pid), `${pid} has ended`)
    assert.deepEqual(readdirSync(temporary), [])
    assert.doesNotMatch(printed, /passed/)
  } finally {
    run.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A process that ended may wait for a parent that does not ask. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

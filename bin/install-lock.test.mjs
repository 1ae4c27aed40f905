import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { takeLock } from './install-lock.mjs'
import { startOf } from './processes.mjs'

const BIN = dirname(fileURLToPath(import.meta.url))

let temp
before(() => {
  temp = mkdtempSync(join(tmpdir(), 'keyrail-test-'))
})
after(() => rmSync(temp, { recursive: true, force: true }))

async function until(condition) {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 10))
}

describe('the install lock', () => {
  test('one that a killed process left behind is taken over', async () => {
    const path = join(temp, 'stale-lock')
    const dead = spawnSync(process.execPath, ['-e', ''])
    writeFileSync(path, JSON.stringify([{ pid: dead.pid, start: '1' }]))
    const lock = await takeLock(path)
    assert.equal(JSON.parse(readFileSync(path, 'utf8'))[0].pid, process.pid)
    lock.release()
    assert.equal(existsSync(path), false)
  })

  test('a pid that belongs to another process by now does not hold it', async () => {
    const path = join(temp, 'reused-lock')
    writeFileSync(path, JSON.stringify([{ pid: process.pid, start: 'earlier' }]))
    const lock = await takeLock(path)
    lock.release()
  })

  test('it is held while npm still runs, although the start that ran npm was killed', async () => {
    const path = join(temp, 'npm-lock')
    const npm = spawn('sleep', ['60'])
    writeFileSync(
      path,
      JSON.stringify([
        { pid: 1, start: 'gone' },
        { pid: npm.pid, start: startOf(npm.pid) },
      ]),
    )
    const waitedFor = new Promise(resolve => {
      void takeLock(path, { onWait: resolve }).then(lock => lock.release())
    })
    assert.equal(await waitedFor, npm.pid)
    npm.kill()
    await until(() => !existsSync(path))
  })

  test('of many that find a stale lock at the same moment, one at a time holds it', async () => {
    const path = join(temp, 'contended-lock')
    const inside = join(temp, 'inside')
    writeFileSync(path, JSON.stringify([{ pid: 1, start: 'gone' }]))
    const script = `
      import { mkdirSync, rmdirSync } from 'node:fs'
      import { takeLock } from ${JSON.stringify(join(BIN, 'install-lock.mjs'))}
      const lock = await takeLock(process.argv[1])
      mkdirSync(process.argv[2])
      await new Promise(resolve => setTimeout(resolve, 20))
      rmdirSync(process.argv[2])
      lock.release()`
    const ends = Array.from({ length: 6 }, () =>
      once(
        spawn(process.execPath, ['--input-type=module', '-e', script, path, inside], { stdio: 'inherit' }),
        'exit',
      ),
    )
    assert.deepEqual(
      await Promise.all(ends),
      ends.map(() => [0, null]),
    )
  })
})

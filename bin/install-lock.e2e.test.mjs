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
  for (let looks = 0; looks < 3_000; looks += 1) {
    if (condition()) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  assert.fail(`never true: ${condition}`)
}

describe('the install lock', () => {
  test('a lock that a killed process left behind is taken over', async () => {
    const path = join(temp, 'stale-lock')
    const dead = spawnSync(process.execPath, ['-e', ''])
    writeFileSync(path, JSON.stringify([{ pid: dead.pid, start: '1' }]))
    const lock = await takeLock(path)
    assert.equal(JSON.parse(readFileSync(path, 'utf8'))[0].pid, process.pid)
    lock.release()
    assert.equal(existsSync(path), false)
  })

  test('a reused pid does not hold the lock', async () => {
    const path = join(temp, 'reused-lock')
    writeFileSync(path, JSON.stringify([{ pid: process.pid, start: 'earlier' }]))
    const lock = await takeLock(path)
    lock.release()
  })

  test('the lock is held while npm runs, even if the start that ran npm was killed', async () => {
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

  test('when many processes find a stale lock at once, one at a time holds it', async () => {
    const path = join(temp, 'contended-lock')
    const inside = join(temp, 'inside')
    const arrivals = mkdtempSync(join(temp, 'arrivals-'))
    writeFileSync(path, JSON.stringify([{ pid: 1, start: 'gone' }]))
    const script = `
      import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
      import { takeLock } from ${JSON.stringify(join(BIN, 'install-lock.mjs'))}
      const [path, inside, arrivals] = process.argv.slice(1)
      writeFileSync(arrivals + '/' + process.pid, '')
      const lock = await takeLock(path)
      mkdirSync(inside)
      // The first holder waits for all to arrive, so that five compete with it.
      for (let looks = 0; readdirSync(arrivals).length < 6; looks += 1) {
        if (looks > 3_000) throw new Error('not all have arrived')
        await new Promise(resolve => setTimeout(resolve, 10))
      }
      rmdirSync(inside)
      lock.release()`
    const ends = Array.from({ length: 6 }, () =>
      once(
        spawn(process.execPath, ['--input-type=module', '-e', script, path, inside, arrivals], {
          stdio: 'inherit',
        }),
        'exit',
      ),
    )
    assert.deepEqual(
      await Promise.all(ends),
      ends.map(() => [0, null]),
    )
  })
})

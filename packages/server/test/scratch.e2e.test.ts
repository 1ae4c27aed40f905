import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { stopPostmaster } from '../src/platform/db/embedded/postmaster.ts'
import { findProcess, isAlive, processesIn } from '../src/platform/db/embedded/processes.ts'
import { findRunningEmbedded } from '../src/platform/db/embedded/running.ts'
import { FAST_PLACE, query } from './embedded-service.ts'
import { startScratchCluster } from './scratch.ts'
import { until } from './until.ts'

/** The oldest supported Postgres, if the machine has it. */
const OLDEST_BIN = '/usr/lib/postgresql/15/bin'
const BINS = [undefined, ...(existsSync(OLDEST_BIN) ? [OLDEST_BIN] : [])]

for (const bin of BINS) {
  describe(`a throw-away cluster of ${bin ?? 'the embedded Postgres'}`, () => {
    test('takes settings, survives a kill by a restart on the same socket, and leaves nothing', async () => {
      const cluster = await startScratchCluster({
        ...(bin ? { bin } : {}),
        settings: { port: 6543, work_mem: '7MB' },
      })
      const { connection, pid, serverVersion } = cluster
      assert.match(connection.host, /^\/tmp\/keyrail-scratch-/)
      assert.match(serverVersion, bin ? /^15\./ : /^18\./)
      const [facts] = await query(
        connection,
        "SELECT current_setting('work_mem') AS memory, current_setting('fsync') AS fsync",
      )
      assert.deepEqual(facts, { memory: '7MB', fsync: 'off' })
      await query(connection, 'CREATE TABLE kept ()')
      process.kill(pid, 'SIGKILL')
      await cluster.restart()
      assert.notEqual(cluster.pid, pid)
      await query(connection, 'SELECT FROM kept')
      await cluster.stop()
      await cluster.restart()
      await query(connection, 'SELECT FROM kept')
      await cluster.remove()
      assert.equal(existsSync(cluster.dataDirectory), false)
      assert.deepEqual(processesIn(cluster.dataDirectory), [])
    })
  })
}

test('it ends with the process that started it, and its files are removed', async () => {
  const script = `
    import { startScratchCluster } from ${JSON.stringify(import.meta.resolve('./scratch.ts'))}
    const { dataDirectory, pid } = await startScratchCluster()
    console.log(JSON.stringify({ dataDirectory, pid }))
    setInterval(() => {}, 60_000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { dataDirectory, pid } = JSON.parse(String((await once(child.stdout, 'data'))[0]))
  const postmaster = findProcess(pid)
  assert.ok(postmaster)
  child.kill('SIGKILL')
  await until(() => !isAlive(postmaster) && !existsSync(dataDirectory))
})

test('it does not keep an idle process alive', async () => {
  const script = `
    import { startScratchCluster } from ${JSON.stringify(import.meta.resolve('./scratch.ts'))}
    await startScratchCluster()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
  assert.deepEqual(await once(child, 'close'), [0, null])
})

test('in a given directory it restarts on the same files, and its connection is found there', async () => {
  const directory = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
  chmodSync(directory, 0o755)
  const first = await startScratchCluster({ directory })
  await query(first.connection, 'CREATE TABLE kept ()')
  assert.deepEqual(findRunningEmbedded(directory), first.connection)
  await first.remove()
  assert.equal(findRunningEmbedded(directory), undefined)
  const second = await startScratchCluster({ directory })
  await query(second.connection, 'SELECT FROM kept')
  await second.remove()
  rmSync(directory, { recursive: true })
})

test('a server that does not react is killed in the end, with all its children', async () => {
  const cluster = await startScratchCluster()
  const postmaster = findProcess(cluster.pid)
  assert.ok(postmaster)
  process.kill(postmaster.pid, 'SIGSTOP')
  await stopPostmaster(cluster.dataDirectory, postmaster, { fastMs: 50, immediateMs: 50 })
  assert.deepEqual(processesIn(cluster.dataDirectory), [])
  await cluster.remove()
})

test('a server that cannot start reports why', async () => {
  await assert.rejects(
    startScratchCluster({ settings: { shared_buffers: '1kB' } }),
    /Postgres ended while it started: .*shared_buffers/s,
  )
})

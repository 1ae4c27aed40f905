import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { stopPostmaster } from './postmaster.ts'
import { findProcess, isAlive, processesIn } from './processes.ts'
import { findRunningEmbedded } from './running.ts'
import { startScratchCluster } from './scratch.ts'
import { FAST_PLACE, query, until } from './test-service.ts'

/** The oldest Postgres we support, where the machine has it. */
const OLDEST_BIN = '/usr/lib/postgresql/15/bin'
const BINS = [undefined, ...(existsSync(OLDEST_BIN) ? [OLDEST_BIN] : [])]

for (const bin of BINS) {
  describe(`a throw-away cluster of ${bin ?? 'the embedded Postgres'}`, () => {
    test('takes settings, survives a kill by restart on the same socket, and leaves nothing behind', async () => {
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

test('it ends with the process that started it, and its files go', async () => {
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

test('it does not keep a process alive that has nothing else to do', async () => {
  const script = `
    import { startScratchCluster } from ${JSON.stringify(import.meta.resolve('./scratch.ts'))}
    await startScratchCluster()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
  assert.deepEqual(await once(child, 'close'), [0, null])
})

test('in a given directory it starts again on the same files, which stay; how to reach it is found there', async () => {
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

test('a server that cannot start says why in its own words', async () => {
  await assert.rejects(
    startScratchCluster({ settings: { shared_buffers: '1kB' } }),
    /Postgres ended while it started: .*shared_buffers/s,
  )
})

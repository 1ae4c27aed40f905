import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clusterVariable, makeTemplate } from '../packages/server/test/database.ts'
import { startScratchCluster } from '../packages/server/test/scratch.ts'
import { notKept, promisedTests } from './promised-tests.ts'
import { startBusyProcesses } from './test/busy.ts'
import { closingLines, isGreen } from './test/closing.ts'
import { readOptions } from './test/options.ts'
import { cpuSecondsOfTree } from './test/process-group.ts'
import { makeProgress } from './test/progress.ts'
import { faultsOfQuarantine, readQuarantine } from './test/quarantine.ts'
import { findTests } from './test/rings.ts'
import { runTests } from './test/run.ts'
import { endAll } from './test/run-file.ts'
import { dearestFirst, readTimes, writeTimes } from './test/times.ts'

/**
 * Runs tests on a throw-away Postgres with a migrated template database, and ends with their count.
 *
 *   npm test                                           the inner ring: no processes, no browser; minutes
 *   npm test -- packages/server/src/keys               the tests of the inner ring below a path
 *   npm test -- docs/readme.e2e.test.ts                a file, whatever its ring
 *   npm run test:e2e [-- PATH]                         the end-to-end ring
 *   npm run test:all                                   both rings, and the service's rooms on Postgres 15
 *   … --postgres /usr/lib/postgresql/15/bin            on another Postgres
 *   … --minutes 20                                     begins no file after that time
 *   … --repeat 20 FILE                                 runs each file so often, and fails if it fails once
 *   … --busy 4                                         beside four processes that take all the processor time they get
 */
const options = readOptions(process.argv.slice(2))
const found = findTests(options.paths, options.rings)
if (found.length === 0) {
  console.error(`no tests below ${options.paths.join(', ') || 'this folder'}`)
  process.exit(1)
}
const began = performance.now()
const times = readTimes()
const files = Array.from({ length: options.repeat }, () => dearestFirst(found, times, options.seed)).flat()
const quarantine = readQuarantine()

// Each test file is a process that loads much the same modules, and several start the service: compiled once, they load in
// two thirds of the processor time.
const compiled = mkdtempSync(join(tmpdir(), 'keyrail-compiled-'))
process.env.NODE_COMPILE_CACHE = compiled

// Tests that start the service expect a built dashboard; beside their starts, a build would take the processor from them.
const dashboard = fileURLToPath(new URL('../packages/dashboard/build.ts', import.meta.url))
const built = spawnSync(process.execPath, [dashboard], { stdio: ['ignore', 'ignore', 'inherit'] })
if (built.status !== 0) console.error('the dashboard could not be built; the tests that need it will fail')

const cluster = await startScratchCluster({
  ...(options.postgres !== undefined && { bin: options.postgres }),
  settings: { max_connections: 400, synchronous_commit: 'off' },
})
const busy = startBusyProcesses(options.busy)
async function endRun(): Promise<void> {
  endAll()
  await busy.end()
  await cluster.remove()
  rmSync(compiled, { recursive: true, force: true })
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void endRun().finally(() => process.exit(130)))
}

try {
  await makeTemplate(cluster.connection)
  process.env[clusterVariable] = JSON.stringify(cluster.connection)
  const run = await runTests({
    files,
    slots: availableParallelism() + 1,
    beginWithinMs: options.minutes * 60_000,
    secondLook: options.repeat === 1,
    quarantine,
    kept: 'test-results',
    progress: makeProgress({
      files,
      times,
      print: text => process.stdout.write(text),
      terminal: process.stdout.isTTY === true,
    }),
  })
  const ran = new Map(run.results.map(({ file, passed }) => [file, passed]))
  for (const { file } of run.unsteady) ran.delete(file)
  const broken = notKept(promisedTests(), [...ran.keys()], ran)
  const facts = {
    ...run,
    quarantine,
    faults: [
      ...faultsOfQuarantine(quarantine, Date.now()).map(fault => `quarantine: ${fault}`),
      ...broken.map(({ page, file, name }) => `${page} names a test that did not pass: ${file} "${name}"`),
    ],
    postgresVersion: cluster.serverVersion,
    postgresCpuSeconds: cpuSecondsOfTree(cluster.pid),
    seconds: (performance.now() - began) / 1_000,
    seed: options.seed,
  }
  if (options.writesTimes) writeTimes(new Map(run.results.map(one => [one.file, one.cpuSeconds])))
  for (const line of closingLines(facts)) console.log(line)
  process.exitCode = isGreen(facts) ? 0 : 1
} finally {
  await endRun()
}

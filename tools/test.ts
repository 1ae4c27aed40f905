import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clusterVariable, makeTemplate } from '../packages/server/test/database.ts'
import { type ScratchCluster, startScratchCluster } from '../packages/server/test/scratch.ts'
import { notKept, promisedTests } from './promised-tests.ts'
import { startBusyProcesses } from './test/busy.ts'
import { readChanges, testsReached } from './test/changed.ts'
import { closingLines, isGreen } from './test/closing.ts'
import { readImporters } from './test/imports.ts'
import { finalResults } from './test/judge.ts'
import { newestFirst } from './test/newest.ts'
import { readOptions } from './test/options.ts'
import { cpuSecondsOfTree } from './test/process-group.ts'
import { makeProgress } from './test/progress.ts'
import { faultsOfQuarantine, readQuarantine } from './test/quarantine.ts'
import { findTests } from './test/rings.ts'
import { type RunResults, runTests } from './test/run.ts'
import { dearestFirst, readTimes, writeTimes } from './test/times.ts'

/**
 * Runs tests on a throw-away Postgres with a migrated template database, and ends with their count. `--help` prints its usage.
 */
const options = readOptions()
const began = performance.now()
const times = readTimes()
const quarantine = readQuarantine()
const stop = new AbortController()
/** The exit code of a run that was interrupted. */
let exitCode: number | undefined
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  // A second one ends the run at once.
  process.once(signal, () => {
    exitCode = code
    stop.abort()
  })
}

const files = await chooseFiles()
if (files.length > 0) process.exitCode = await withCompileCache(runOnPostgres)

async function chooseFiles(): Promise<string[]> {
  const found = findTests(options.paths, options.rings)
  if (found.length === 0) {
    console.error(`no tests below ${options.paths.join(', ') || 'this folder'}`)
    process.exitCode = 1
  }
  const chosen = options.changed ? await choosePart(found) : found
  const ordered = Array.from({ length: options.repeat }, () =>
    dearestFirst(chosen, times, options.seed),
  ).flat()
  return options.minutes === Number.POSITIVE_INFINITY ? ordered : newestFirst(ordered)
}

async function choosePart(found: readonly string[]): Promise<string[]> {
  const { base, files } = readChanges()
  const reached = testsReached(files, found, await readImporters(found))
  console.log(
    `${files.length} files differ from ${base.slice(0, 12)}, and reach ${reached.length} test files`,
  )
  return reached
}

/**
 * Each test file is a process that loads much the same modules, and several start the service: compiled once, they load in
 * two thirds of the processor time.
 */
async function withCompileCache(run: () => Promise<number>): Promise<number> {
  const compiled = mkdtempSync(join(tmpdir(), 'keyrail-compiled-'))
  process.env.NODE_COMPILE_CACHE = compiled
  try {
    return await run()
  } catch (error) {
    // A key pressed at the terminal also ends what this was waiting for.
    if (exitCode === undefined) throw error
    return exitCode
  } finally {
    rmSync(compiled, { recursive: true, force: true })
  }
}

async function runOnPostgres(): Promise<number> {
  buildDashboard()
  const cluster = await startScratchCluster({
    ...(options.postgres !== undefined && { bin: options.postgres }),
    settings: { max_connections: 400, synchronous_commit: 'off' },
  })
  const busy = startBusyProcesses(options.busy)
  try {
    await makeTemplate(cluster.connection)
    process.env[clusterVariable] = JSON.stringify(cluster.connection)
    const run = await runFiles()
    return exitCode ?? report(run, cluster)
  } finally {
    await busy.end()
    await cluster.remove()
  }
}

/** Tests that start the service expect a built dashboard; beside their starts, a build would take the processor from them. */
function buildDashboard(): void {
  const build = fileURLToPath(new URL('../packages/dashboard/build.ts', import.meta.url))
  const { status } = spawnSync(process.execPath, [build], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) console.error('the dashboard could not be built; the tests that need it will fail')
}

function runFiles(): Promise<RunResults> {
  return runTests({
    files,
    slots: availableParallelism() + 1,
    beginWithinMs: options.minutes * 60_000,
    secondLook: options.repeat === 1,
    quarantine,
    kept: 'test-results',
    stopped: stop.signal,
    progress: makeProgress({
      files,
      times,
      print: text => process.stdout.write(text),
      terminal: process.stdout.isTTY === true,
    }),
  })
}

/** Prints how a run ended, and returns the exit code. */
function report(run: RunResults, cluster: ScratchCluster): number {
  const passed = new Map(finalResults(run.results, run).map(one => [one.file, one.passed]))
  const promised = promisedTests()
  const broken = notKept(promised, [...passed.keys()], passed)
  const facts = {
    ...run,
    quarantine,
    faults: [
      ...faultsOfQuarantine(quarantine, promised, Date.now()).map(fault => `quarantine: ${fault}`),
      ...broken.map(({ page, file, name }) => `${page} names a test that did not pass: ${file} "${name}"`),
    ],
    postgresVersion: cluster.serverVersion,
    postgresCpuSeconds: cpuSecondsOfTree(cluster.pid),
    seconds: (performance.now() - began) / 1_000,
    seed: options.seed,
  }
  for (const line of closingLines(facts)) console.log(line)
  if (!isGreen(facts)) return 1
  if (options.writesTimes) writeTimes(new Map(run.results.map(one => [one.file, one.cpuSeconds])))
  return 0
}

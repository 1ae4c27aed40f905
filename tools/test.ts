import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { clusterVariable, makeTemplate } from '../packages/server/test/database.ts'
import { startScratchCluster } from '../packages/server/test/scratch.ts'
import { startBusyProcesses } from './busy.ts'
import { notKept, promisedTests } from './promised-tests.ts'
import { type FileResult, failedFiles, runFiles } from './run-files.ts'

/**
 * Runs every test on a throw-away Postgres with a migrated template database.
 *
 *   npm test                                           everything, on the embedded Postgres
 *   npm test -- packages/server/src/keys               the tests below a path
 *   npm test -- --postgres /usr/lib/postgresql/15/bin  on another Postgres
 *   npm test -- --busy 4                               beside four processes that take all the processor time they get
 *   npm test -- --again                                runs each failed file a second time, and names those that then pass
 */
const { values, positionals } = parseArgs({
  options: {
    postgres: { type: 'string' },
    busy: { type: 'string', default: '0' },
    again: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
/** Files. */
const mostRunAgain = 12
const busyCount = Number(values.busy)
if (!Number.isInteger(busyCount) || busyCount < 0) {
  console.error('--busy takes a number of processes, such as 4')
  process.exit(1)
}

const places =
  positionals.length > 0
    ? positionals
    : ['packages', 'bin', 'bench', 'drills', 'deploy', 'docs', 'examples', 'tools']
const files = places
  .flatMap(place => (/\.test\.m?[jt]s$/.test(place) ? [place] : globSync(`${place}/**/*.test.{ts,mjs}`)))
  .filter(file => !file.includes('node_modules'))
  .toSorted()
if (files.length === 0) {
  console.error(`no tests below ${places.join(', ')}`)
  process.exit(1)
}

// Each test file is a process that loads much the same modules, and several start the service: compiled once, they load in
// two thirds of the processor time.
const compiled = mkdtempSync(join(tmpdir(), 'keyrail-compiled-'))
process.env.NODE_COMPILE_CACHE = compiled

// Tests that start the service expect a built dashboard; beside their starts, a build would take the processor from them.
const dashboard = fileURLToPath(new URL('../packages/dashboard/build.ts', import.meta.url))
const built = spawnSync(process.execPath, [dashboard], { stdio: ['ignore', 'ignore', 'inherit'] })
if (built.status !== 0) console.error('the dashboard could not be built; the tests that need it will fail')

const cluster = await startScratchCluster({
  ...(values.postgres !== undefined && { bin: values.postgres }),
  settings: { max_connections: 400, synchronous_commit: 'off' },
})
let results = new Map<string, FileResult>()
const unsteady: string[] = []
const busy = startBusyProcesses(busyCount)
try {
  await makeTemplate(cluster.connection)
  process.env[clusterVariable] = JSON.stringify(cluster.connection)
  results = await runFiles(files)
  const failedOnce = failedFiles(results)
  // So many failures are no race of one test, and their second run would take as long as the first.
  if (values.again && failedOnce.length > 0 && failedOnce.length <= mostRunAgain) {
    console.log(`runs again: ${failedOnce.join(', ')}`)
    for (const [file, result] of await runFiles(failedOnce)) {
      results.set(file, result)
      if (result.failed === 0) unsteady.push(file)
    }
  }
} finally {
  await busy.end()
  await cluster.remove()
  rmSync(compiled, { recursive: true, force: true })
}
const slowest = [...results].toSorted(([, a], [, b]) => b.seconds - a.seconds).slice(0, 10)
console.log('slowest files:')
for (const [file, { seconds }] of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`)
const passedIn = new Map([...results].map(([file, { names }]) => [file, names]))
const broken = notKept(promisedTests(), files, passedIn)
for (const { page, file, name } of broken)
  console.log(`${page} names a test that did not pass: ${file} "${name}"`)
for (const file of unsteady) console.log(`UNSTEADY, passed at the second run only: ${file}`)
console.log(`on Postgres ${cluster.serverVersion}`)
const sum = (count: 'passed' | 'failed') => [...results.values()].reduce((all, one) => all + one[count], 0)
console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
process.exitCode = sum('failed') === 0 && sum('passed') > 0 && broken.length === 0 ? 0 : 1

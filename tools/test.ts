import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { startScratchCluster } from '../packages/server/src/platform/db/embedded/scratch.ts'
import { clusterVariable, makeTemplate } from '../packages/server/test/database.ts'

/**
 * Runs every test on a throw-away Postgres with a migrated template database.
 *
 *   npm test                                           everything, on the embedded Postgres
 *   npm test -- packages/server/src/keys               the tests below a path
 *   npm test -- --postgres /usr/lib/postgresql/15/bin  on another Postgres
 */
const { values, positionals } = parseArgs({
  options: { postgres: { type: 'string' } },
  allowPositionals: true,
})

const places =
  positionals.length > 0 ? positionals : ['packages', 'bin', 'bench', 'drills', 'docs', 'examples', 'tools']
const files = places
  .flatMap(place => (/\.test\.m?[jt]s$/.test(place) ? [place] : globSync(`${place}/**/*.test.{ts,mjs}`)))
  .filter(file => !file.includes('node_modules'))
  .toSorted()
if (files.length === 0) {
  console.error(`no tests below ${places.join(', ')}`)
  process.exit(1)
}

const cluster = await startScratchCluster({
  ...(values.postgres !== undefined && { bin: values.postgres }),
  settings: { max_connections: 400, synchronous_commit: 'off' },
})
let passed = 0
let failed = 0
try {
  await makeTemplate(cluster.connection)
  process.env[clusterVariable] = JSON.stringify(cluster.connection)
  const stream = run({ files, concurrency: availableParallelism() + 1, timeout: 300_000 })
  stream.on('test:summary', summary => {
    if (summary.file !== undefined) return
    passed = summary.counts.passed
    // A skipped or unfinished test proves nothing, so it counts as failed.
    failed = summary.counts.tests - passed
  })
  for await (const chunk of stream.compose(new spec())) process.stdout.write(chunk)
} finally {
  await cluster.remove()
}
console.log(`on Postgres ${cluster.serverVersion}`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

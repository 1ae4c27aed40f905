import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { domain, genesisHash } from '../packages/server/src/audit/chain.ts'
import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { durableDirectory } from './harness/durable-directory.ts'
import { runGenerator } from './harness/generator.ts'
import { openLoop } from './harness/load.ts'
import { timeCopy } from './harness/psql-copy.ts'
import { keyOf } from './service/creations.ts'
import type { HashCounts, HashPlan } from './service/hash-chain-process.ts'
import { chainQuery, fillChain, writeCanonicalRows } from './service/long-chain.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor } from './service/vendor.ts'

/**
 * Verifying a long audit chain against the least it can cost: hashing the same bytes in a process that does nothing
 * else, plus Postgres returning the same rows. And the effect on others: requests of another workspace at a fixed rate,
 * with and without continuous verification.
 */

const ROWS = 1_000_000
const QUICK_ROWS = 100_000
/** Requests of the other workspace, on the core that the verification uses too. */
const REQUESTS_PER_SECOND = 200
const CONNECTIONS = 16
/** Requests before memory is first read, so that the memory of any busy service is not counted. */
const WARM_UP_SECONDS = 10
const MIB = 1024 * 1024

export const bench: Bench = {
  name: 'G12',
  title: 'Verifying a chain of 1,000,000 rows (quick: 100,000) against hashing and COPY of the same',
  goal: [
    { metric: 'ms', direction: 'at most', floor: 3, moonshot: 1.5 },
    { metric: 'RSS +MiB', compare: 'value', direction: 'at most', floor: 64, moonshot: 32 },
    { metric: 'others p99 ms', direction: 'at most', floor: 1.5, moonshot: 1.5 },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    const rows = run.quick ? QUICK_ROWS : ROWS
    await fillChain(postgres, vendor, rows)
    const folder = mkdtempSync(join(durableDirectory(), 'keyrail-chain-'))
    await run.use({ close: () => rmSync(folder, { recursive: true }) })
    const file = join(folder, 'rows')
    await writeCanonicalRows(postgres, vendor, file)
    const [size] = await postgres.query(
      'select round(avg(pg_column_size(l)))::int as stored from audit_logs l where workspace_id = $1',
      [vendor.workspaceId],
    )
    run.note(`rows of ${size?.stored} bytes in the table, ${REQUESTS_PER_SECOND} other requests/s`)

    const other = await makeVendor(server.url)
    const key = await call(server.url, other.token, '/v1/keys', keyOf(other))
    const others = (seconds: number) =>
      openLoop({
        url: server.url,
        connections: CONNECTIONS,
        perSecond: REQUESTS_PER_SECOND,
        seconds,
        requests: [{ path: `/v1/keys/${key.id}`, headers: { authorization: `Bearer ${other.token}` } }],
        expectBody: String(key.id),
      })
    const verify = async () => {
      const chain = await call(server.url, vendor.token, '/v1/audit_logs/chain')
      if (chain.valid !== true) throw new BenchFault(`the chain is broken: ${JSON.stringify(chain)}`)
      return { rows: Number(chain.checked), last: String(chain.head_hash) }
    }
    await others(WARM_UP_SECONDS)
    server.resetPeakRss()
    const rssBefore = server.peakRssBytes()

    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ seconds }) {
        server.resetPeakRss()
        const startedAt = performance.now()
        const answer = await verify()
        const ms = performance.now() - startedAt
        const rss = (server.peakRssBytes() - rssBefore) / MIB

        let loaded = true
        const verifying = (async () => {
          while (loaded) await verify()
        })()
        const load = others(seconds).finally(() => {
          loaded = false
        })
        const [{ p99Ms, doubt }] = await Promise.all([load, verifying])
        return { values: { ms, 'RSS +MiB': rss, 'others p99 ms': p99Ms }, answer, doubt }
      },
    }
    const control: Arm = {
      name: 'hashing + COPY',
      role: 'control',
      async measure({ seconds }) {
        const genesis = genesisHash(vendor.workspaceId).toString('hex')
        const script = new URL('service/hash-chain-process.ts', import.meta.url).href
        const hashing = await runGenerator<HashPlan, HashCounts>(script, { file, genesis, domain })
        const copy = await timeCopy({ connection: postgres.connection, query: chainQuery(vendor) })
        const { p99Ms, doubt } = await others(seconds)
        const values = {
          ms: hashing.ms + copy.ms,
          'hashing ms': hashing.ms,
          'COPY ms': copy.ms,
          'others p99 ms': p99Ms,
        }
        return { values, answer: { rows: hashing.rows, last: hashing.last }, doubt }
      },
    }
    return [ours, control]
  },
}

import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { runGenerator } from './harness/generator.ts'
import { countCopy, timeCopy } from './harness/psql-copy.ts'
import { fillKeys } from './service/keys-fill.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'
import type { WalkCounts, WalkPlan } from './service/walk-process.ts'

/**
 * A whole policy, page by page, against `psql` copying the columns of the same keys: bytes a second of each. Every walk
 * reads another version, so that no page comes from a cache. With BENCH_IMPORTED=1 all keys come from another system.
 */

const isImported = process.env.BENCH_IMPORTED === '1'
const KEYS = 1_000_000
const QUICK_KEYS = 100_000
const KEYS_OF_TENANT = 10_000
const PAGE_KEYS = 5_000
const MIB = 1024 * 1024
/** A decimal megabyte, as in bytes a second. */
const MB = 1e6

export const bench: Bench = {
  name: 'G16',
  title: 'A snapshot of 1,000,000 keys by pages (quick: 100,000), against COPY of the same keys',
  goal: [
    { metric: 'MB/s', direction: 'at least', floor: 0.25, moonshot: 0.5 },
    { metric: 'RSS +MiB', compare: 'value', direction: 'at most', floor: 128, moonshot: 48 },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const keys = run.quick ? QUICK_KEYS : KEYS
    const vendor = await makeVendor(server.url, { tenants: keys / KEYS_OF_TENANT })
    const rssBefore = server.peakRssBytes()
    await fillKeys(postgres, vendor, keys, isImported)

    const plan: WalkPlan = {
      url: server.url,
      path: `/v1/policy/snapshot?project_id=${vendor.projectId}&max_keys=${PAGE_KEYS}${isImported ? '&features=imported' : ''}`,
      token: vendor.token,
      count: false,
    }
    const script = new URL('service/walk-process.ts', import.meta.url).href
    const walk = (count: boolean) => runGenerator<WalkPlan, WalkCounts>(script, { ...plan, count })
    /** Inserted past the service, which would also write a version and an audit row for each key. */
    const raiseVersion = (by = 1) =>
      postgres.query('update policy_heads set version = version + $2 where project_id = $1', [
        vendor.projectId,
        by,
      ])
    // Each page has the version, which so keeps its number of digits.
    await raiseVersion(1_000_000)
    const whole = await walk(true)
    if (whole.keys !== keys) throw new BenchFault(`the snapshot has ${whole.keys} keys, not ${keys}`)
    const query = `select id, tenant_id, env, lookup_hash, display_prefix, scopes, expires_at, rate_limits
      from api_keys where project_id = '${vendor.projectId}' order by id`
    const copied = await countCopy({ connection: postgres.connection, query })
    if (copied.rows !== keys) throw new BenchFault(`COPY gave ${copied.rows} rows, not ${keys}`)
    run.note(
      `${Math.round(whole.bytes / keys)} bytes a key in the snapshot, ${Math.round(copied.bytes / keys)} in COPY, ${whole.pages} pages`,
    )

    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure() {
        await raiseVersion()
        server.resetPeakRss()
        const { bytes, pages, ms, refused } = await walk(false)
        if (bytes !== whole.bytes) throw new BenchFault(`${bytes} bytes came, not ${whole.bytes}`)
        const rss = (server.peakRssBytes() - rssBefore) / MIB
        return {
          values: { 'MB/s': bytes / MB / (ms / 1000), 'RSS +MiB': rss, pages, '503': refused },
          answer: { keys },
        }
      },
    }
    const control: Arm = {
      name: 'COPY',
      role: 'control',
      async measure() {
        const { ms } = await timeCopy({ connection: postgres.connection, query })
        return { values: { 'MB/s': copied.bytes / MB / (ms / 1000) }, answer: { keys: copied.rows } }
      },
    }
    return [ours, control]
  },
}

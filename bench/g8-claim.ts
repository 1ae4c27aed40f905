import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { meterCpu } from './harness/cpu.ts'
import { type PgbenchOptions, runPgbench } from './harness/pgbench.ts'
import { meteredLoop } from './harness/request-arm.ts'
import type { ScratchPostgres } from './harness/scratch-postgres.ts'
import { rateLimitChecks } from './service/checks.ts'
import { duplicateClaims, newClaims } from './service/claims.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor, type Vendor } from './service/vendor.ts'

/**
 * A durable claim over HTTP, authenticated and logged, against pgbench running the same statement with a commit each.
 * pgbench speaks no HTTP, and a lane commits many claims at once. A flood of duplicates is compared with the rate-limit
 * check: a losing claim writes nothing.
 */
const CLIENTS = 64
const CLAIM = ['claim', 'claims'] as const
const DUPLICATE = ['duplicate', 'duplicates'] as const

const claim = `insert into idempotency_claims as c
  (workspace_id, env, scope_hash, fingerprint, lock_token, claimed_at, locked_until, ttl_ms, expires_at, kept_until)
values (:workspace, 'live', sha256(:scope::text::bytea || clock_timestamp()::text::bytea), sha256(:scope::text::bytea),
  'a-token-of-as-many-characters-as-ours-has-', now(), now() + interval '30 seconds', 86400000,
  now() + interval '24 hours', now() + interval '25 hours')
on conflict (workspace_id, env, scope_hash) do update set lock_token = excluded.lock_token
  where c.locked_until <= excluded.claimed_at
returning lock_token;`
const script = `\\set scope random(1, 1000000000000)\n${claim}`

export const bench: Bench = {
  name: 'G8',
  title: 'An idempotency claim, against pgbench doing the same INSERT … ON CONFLICT, a commit each',
  goal: [
    { metric: 'claims/CPU s', direction: 'at least', floor: 0.75, moonshot: 1.25 },
    {
      metric: 'duplicates/CPU s',
      direction: 'at least',
      floor: 0.8,
      moonshot: null,
      against: 'rate-limit check',
    },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    const checks = rateLimitChecks(vendor, 1)
    const load = { url: server.url, connections: CLIENTS }
    const users = { service: server, Postgres: postgres }

    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ seconds }) {
        const before = await rowsOf(postgres)
        const claims = { ...load, seconds, requests: newClaims(vendor), expectBody: '"verdict":"execute"' }
        const fresh = await meteredLoop(users, claims, CLAIM)
        const rows = (await rowsOf(postgres)) - before
        if (rows < fresh.answered || rows > fresh.answered + CLIENTS)
          throw new BenchFault(`${fresh.answered} claims were answered, ${rows} rows were written`)
        // New claims each turn: a lock that expired during the turn would be taken over.
        const duplicates = duplicateClaims(vendor)
        for (const { path = '', body = '' } of duplicates)
          await call(server.url, vendor.token, path, JSON.parse(body))
        const repeats = { ...load, seconds, requests: duplicates, expectBody: '"verdict":"in_progress"' }
        const flood = await meteredLoop(users, repeats, DUPLICATE)
        return { values: { ...fresh.values, ...flood.values }, doubt: fresh.doubt ?? flood.doubt }
      },
    }
    const check: Arm = {
      name: 'rate-limit check',
      role: 'peer',
      async measure({ seconds }) {
        const asked = { ...load, seconds, requests: checks, expectBody: '"allowed":true' }
        const { values, doubt } = await meteredLoop(users, asked, DUPLICATE)
        return { values, doubt }
      },
    }
    return [ours, pgbench(postgres, vendor), check]
  },
}

function pgbench(postgres: ScratchPostgres, vendor: Vendor): Arm {
  return {
    name: 'pgbench',
    role: 'control',
    async measure({ seconds }) {
      const before = await rowsOf(postgres)
      const run: PgbenchOptions = {
        connection: postgres.connection,
        script,
        clients: CLIENTS,
        threads: 1,
        seconds,
        variables: { workspace: vendor.workspaceId },
      }
      const { result, values } = await meterCpu(
        { Postgres: postgres },
        CLAIM,
        () => runPgbench(run),
        ({ transactions }) => transactions,
      )
      const rows = (await rowsOf(postgres)) - before
      if (rows !== result.transactions)
        throw new BenchFault(`pgbench committed ${result.transactions} times, ${rows} rows were written`)
      return { values: { ...values, 'claims/s': result.tps } }
    },
  }
}

const rowsOf = async ({ query }: ScratchPostgres): Promise<number> =>
  Number((await query('select count(*) as rows from idempotency_claims'))[0]?.rows)

import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { closedLoop } from './harness/load.ts'
import { runPgbench } from './harness/pgbench.ts'
import type { ScratchPostgres } from './harness/scratch-postgres.ts'
import { rateLimitChecks } from './service/checks.ts'
import { duplicateClaims, newClaims } from './service/claims.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor, type Vendor } from './service/vendor.ts'

/**
 * A durable claim over HTTP, authenticated and logged, against pgbench doing the one statement that it comes to, a
 * commit each; it speaks no HTTP, and a lane commits many at once. A flood of duplicates is shown against the
 * rate-limit check: who loses writes nothing.
 */
const CLIENTS = 64

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
    { metric: 'claims/s', direction: 'at least', floor: 0.75, moonshot: 1.25 },
    {
      metric: 'duplicates/s',
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

    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ seconds }) {
        const before = await rowsOf(postgres)
        const fresh = await closedLoop({
          ...load,
          seconds,
          requests: newClaims(vendor),
          expectBody: '"verdict":"execute"',
        })
        const rows = (await rowsOf(postgres)) - before
        if (rows < fresh.answered || rows > fresh.answered + CLIENTS)
          throw new BenchFault(`${fresh.answered} claims were answered, ${rows} rows came of them`)
        // New ones each turn: a lock that ended in the midst of it would be taken over.
        const duplicates = duplicateClaims(vendor)
        for (const { path = '', body = '' } of duplicates)
          await call(server.url, vendor.token, path, JSON.parse(body))
        const flood = await closedLoop({
          ...load,
          seconds,
          requests: duplicates,
          expectBody: '"verdict":"in_progress"',
        })
        return {
          values: { 'claims/s': fresh.perSecond, 'duplicates/s': flood.perSecond },
          doubt: fresh.doubt ?? flood.doubt,
        }
      },
    }
    const check: Arm = {
      name: 'rate-limit check',
      role: 'peer',
      async measure({ seconds }) {
        const { perSecond, doubt } = await closedLoop({
          ...load,
          seconds,
          requests: checks,
          expectBody: '"allowed":true',
        })
        return { values: { 'claims/s': perSecond, 'duplicates/s': perSecond }, doubt }
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
      const { tps, transactions } = await runPgbench({
        connection: postgres.connection,
        script,
        clients: CLIENTS,
        threads: 1,
        seconds,
        variables: { workspace: vendor.workspaceId },
      })
      const rows = (await rowsOf(postgres)) - before
      if (rows !== transactions)
        throw new BenchFault(`pgbench committed ${transactions} times, ${rows} rows came of it`)
      return { values: { 'claims/s': tps, 'duplicates/s': tps } }
    },
  }
}

const rowsOf = async ({ query }: ScratchPostgres): Promise<number> =>
  Number((await query('select count(*) as rows from idempotency_claims'))[0]?.rows)

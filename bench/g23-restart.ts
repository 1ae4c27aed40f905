import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Arm, type Bench, BenchFault, type BenchRun } from './harness/bench.ts'
import type { HttpRequest } from './harness/request.ts'
import type { ScratchPostgres } from './harness/scratch-postgres.ts'
import { freePort, type ServerProcess, spawnServer } from './harness/spawn-server.ts'
import { median } from './harness/statistics.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'
import { startWriters } from './service/writers.ts'

/**
 * Ready again after `kill -9` under write load: from the start of the process until it reports ready and has
 * acknowledged a write. Against a Fastify with a pool on the same Postgres, killed in the same way.
 */

const WRITERS = 8
/** Long enough for thousands of writes, so that the kill hits each stage of a write. */
const WRITE_MS = 500

export const bench: Bench = {
  name: 'G23',
  title: 'Ready again after kill -9, against a bare Fastify with a pool',
  goal: [
    { metric: 'ready ms', direction: 'at most', floor: 3, moonshot: 1.5 },
    { metric: 'lost answers', compare: 'value', direction: 'at most', floor: 0, moonshot: 0 },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    return [await keyrail(run, postgres), await bare(run, postgres)]
  },
}

/** The parts of an arm. */
type Mortal = {
  url: string
  start(): Promise<ServerProcess>
  write(name: string): HttpRequest
  /** How many of these names are stored, with all rows that belong to them. */
  kept(names: readonly string[]): Promise<number>
}

async function keyrail(run: BenchRun, postgres: ScratchPostgres): Promise<Arm> {
  const port = await freePort()
  const first = await startKeyrail(postgres, { port })
  const { token, workspaceId } = await makeVendor(first.url)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return mortalArm(run, 'keyrail', 'subject', first, {
    url: first.url,
    start: () => startKeyrail(postgres, { port }),
    write: name => ({
      method: 'POST',
      path: '/v1/tenants',
      headers,
      body: JSON.stringify({ external_id: name }),
    }),
    kept: names =>
      countOf(
        postgres,
        `select count(*)::int as count from tenants t
         join audit_logs l on l.workspace_id = t.workspace_id and l.target_id = t.id and l.action = 'tenant.created'
         where t.workspace_id = $2 and t.external_id = any($1::text[])`,
        [names, workspaceId],
      ),
  })
}

async function bare(run: BenchRun, postgres: ScratchPostgres): Promise<Arm> {
  await postgres.query('create table bench_rows (id text primary key)')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const start = () =>
    spawnServer({
      script: join(import.meta.dirname, 'service', 'bare-pool.ts'),
      args: ['--port', String(port)],
      env: { DATABASE_URL: postgres.url },
      ready: { url: `${url}/readyz` },
    })
  return mortalArm(run, 'bare Fastify + pool', 'control', await start(), {
    url,
    start,
    write: name => ({
      method: 'POST',
      path: '/rows',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: name }),
    }),
    kept: names =>
      countOf(postgres, 'select count(*)::int as count from bench_rows where id = any($1::text[])', [names]),
  })
}

async function countOf({ query }: ScratchPostgres, sql: string, values: unknown[]): Promise<number> {
  const [row] = await query(sql, values)
  return Number(row?.count)
}

/** Writes, kills, restarts and counts until the turn is over, at least once. */
async function mortalArm(
  run: BenchRun,
  name: string,
  role: Arm['role'],
  first: ServerProcess,
  mortal: Mortal,
): Promise<Arm> {
  let server = first
  await run.use({ close: () => server.close() })
  return {
    name,
    role,
    async measure({ seconds }) {
      const ready: number[] = []
      let lost = 0
      const until = performance.now() + seconds * 1000
      do {
        const { ended } = await startWriters(mortal.url, WRITERS, randomUUID, mortal.write)
        await Promise.race([sleep(WRITE_MS), ended])
        await server.kill()
        const names = await ended
        if (names.length === 0) throw new BenchFault(`${name} acknowledged nothing before it was killed`)

        const startedAt = performance.now()
        server = await mortal.start()
        await succeed(mortal)
        ready.push(performance.now() - startedAt)
        lost += names.length - (await mortal.kept(names))
      } while (performance.now() < until)
      return { values: { 'ready ms': median(ready), 'lost answers': lost } }
    },
  }
}

async function succeed({ url, write }: Mortal): Promise<void> {
  const { method = 'GET', path = '/', headers = {}, body = '' } = write(randomUUID())
  const answer = await fetch(url + path, { method, headers, body })
  await answer.body?.cancel()
  if (answer.status !== 201) throw new BenchFault(`the first write was answered ${answer.status}`)
}

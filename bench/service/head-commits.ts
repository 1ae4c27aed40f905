import { randomUUID } from 'node:crypto'
import { BenchFault } from '../harness/bench.ts'
import { type PgbenchResult, runPgbench } from '../harness/pgbench.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'

/**
 * What Postgres alone does for a hot chain: lock the head, insert a row, move the head, commit. Its tables have the
 * columns of the audit log and rows of its size, but no checks, no foreign keys and no row-level security, and nothing
 * is hashed; the client is written in C and needs no core of the server.
 */
export type HeadCommits = { measure(clients: number, seconds: number): Promise<PgbenchResult> }

const TABLES = `
  create table bench_heads (workspace_id uuid primary key, seq bigint not null, hash bytea not null);
  create table bench_logs (like audit_logs, primary key (workspace_id, seq))`

/** Cells of a row like an audit row of the bench, but for \`seq\` and \`hash\`, which come from the head. */
const script = (payload: string) => `begin;
select seq, hash from bench_heads where workspace_id = :workspace for update \\gset
insert into bench_logs (workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env, payload,
  created_at, prev_hash, hash) values (:workspace, :seq + 1, 'tenant.created', 'secret_key', '${randomUUID()}',
  'tenant', '${randomUUID()}', null, '${payload}', now(), :hash, :hash);
update bench_heads set seq = :seq + 1, hash = :hash where workspace_id = :workspace;
commit;`

/** @param payloadBytes the size of an audit row's payload in the bench: every other cell has one size. */
export async function prepareHeadCommits(
  { query, connection }: ScratchPostgres,
  payloadBytes: number,
): Promise<HeadCommits> {
  const workspace = randomUUID()
  await query(TABLES)
  await query('insert into bench_heads values ($1, 0, $2)', [workspace, Buffer.alloc(32)])
  return {
    async measure(clients, seconds) {
      const before = await rowsOf(query, workspace)
      const result = await runPgbench({
        connection,
        script: script('x'.repeat(payloadBytes)),
        clients,
        threads: 1,
        seconds,
        variables: { workspace },
      })
      const rows = await rowsOf(query, workspace)
      if (rows - before !== result.transactions) {
        throw new BenchFault(
          `pgbench committed ${result.transactions} times, ${rows - before} rows were written`,
        )
      }
      return result
    },
  }
}

async function rowsOf(query: ScratchPostgres['query'], workspace: string): Promise<number> {
  const [row] = await query('select count(*)::int as rows from bench_logs where workspace_id = $1', [
    workspace,
  ])
  return Number(row?.rows)
}

import { BenchFault } from '../harness/bench.ts'
import { runPgbench } from '../harness/pgbench.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'

/**
 * What Postgres alone does for a leaked key: a transaction that marks the row of the key, raises the version of its
 * project with the change for nodes, and appends an audit row to the chain of its workspace. Rows have the columns and the
 * size of the service's, and the same indexes; there are no checks, no foreign keys, no row-level security and no rights, and
 * nothing is hashed. Statements travel in one flight, prepared; the client is written in C and needs no core of the server.
 */
export type RowRevocations = {
  /** Adds keys to revoke. @param each for every workspace. */
  prepare(each: number): Promise<void>
  /** Revokes what was prepared, workspaces side by side. @returns milliseconds. */
  revoke(): Promise<number>
}

const TABLES = `
  create table bench_keys (like api_keys including defaults including generated including indexes);
  create table bench_heads (like policy_heads including defaults including indexes);
  create table bench_changes (like policy_changes including defaults including indexes);
  create table bench_chains (like audit_heads including indexes);
  create table bench_logs (like audit_logs including indexes);
  insert into bench_heads (workspace_id, project_id) select md5(w::text)::uuid, md5(w::text)::uuid from generate_series(0, $n - 1) w;
  insert into bench_chains (workspace_id, seq, hash)
    select md5(w::text)::uuid, 0, sha256('') from generate_series(0, $n - 1) w`

/** Keys are numbered in each workspace, so that a client finds its next one without a statement. */
const KEYS = `
  insert into bench_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, created_at, updated_at)
  select md5(w::text)::uuid, md5(w || '-' || n)::uuid, md5(w::text)::uuid, md5('t' || w)::uuid, 'live', 'kr_live_' || left(md5(w || '-' || n), 4),
    sha256(convert_to(w || '-' || n, 'UTF8')), now(), now()
  from generate_series(0, $1::int - 1) w, generate_series($2::int + 1, $2::int + $3::int) n`

const script = (payload: string) => `\\set at :at + 1
\\startpipeline
begin;
update bench_heads set version = version + 1
  where workspace_id = md5(:client_id::text)::uuid and project_id = md5(:client_id::text)::uuid;
update bench_keys set revoked_at = now(), revoked_reason = 'leaked', updated_at = now()
  where workspace_id = md5(:client_id::text)::uuid and id = md5(:client_id::text || '-' || :at::text)::uuid;
insert into bench_changes (workspace_id, project_id, version, key_id)
  select workspace_id, project_id, version, md5(:client_id::text || '-' || :at::text)::uuid from bench_heads
  where workspace_id = md5(:client_id::text)::uuid and project_id = md5(:client_id::text)::uuid;
with head as (
  update bench_chains set seq = seq + 1 where workspace_id = md5(:client_id::text)::uuid returning workspace_id, seq, hash)
insert into bench_logs (workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env, payload, created_at,
    prev_hash, hash)
  select workspace_id, seq, 'api_key.revoked', 'codehost', null, 'api_key', md5(:client_id::text || '-' || :at::text)::uuid,
    'live', '${payload}', now(), hash, hash from head;
commit;
\\endpipeline
`

/**
 * @param workspaces how many, and how many clients.
 * @param payload of an audit row, as the service writes it.
 */
export async function prepareRowRevocations(
  { query, connection }: ScratchPostgres,
  workspaces: number,
  payload: string,
): Promise<RowRevocations> {
  await query(TABLES.replaceAll('$n', String(workspaces)))
  let revoked = 0
  let prepared = 0
  return {
    async prepare(each) {
      await query(KEYS, [workspaces, prepared, each])
      prepared += each
    },
    async revoke() {
      const transactionsEach = prepared - revoked
      const { tps } = await runPgbench({
        connection,
        script: script(payload),
        clients: workspaces,
        threads: 1,
        seconds: { transactionsEach },
        variables: { at: revoked },
      })
      revoked = prepared
      const [row] = await query(
        `select (select count(*)::int from bench_keys where revoked_at is null) as active,
           (select count(*)::int from bench_changes) as changes, (select count(*)::int from bench_logs) as logs`,
      )
      const all = prepared * workspaces
      if (row?.active !== 0 || row.changes !== all || row.logs !== all)
        throw new BenchFault(`the control left ${JSON.stringify(row)} of ${all} keys`)
      return (transactionsEach * workspaces * 1_000) / tps
    },
  }
}

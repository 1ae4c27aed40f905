import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import type { Vendor } from './vendor.ts'

/** Rows of a busy vendor: changes of keys, 355 to 430 bytes each in the table. */
const FILL = `
  with recursive base as (select seq, hash from audit_heads where workspace_id = $1),
  chain(seq, target_id, created_at, payload, prev_hash, hash) as (
    select seq, null::uuid, null::timestamptz, null::text, null::bytea, hash from base
    union all
    select c.seq, c.target_id, c.created_at, c.payload, c.prev_hash,
      sha256('keyrail-audit-v1'::bytea || '\\x0a'::bytea || c.prev_hash || convert_to(audit_canonical(
        $1, c.seq, 'api_key.updated', 'secret_key', $2, 'api_key', c.target_id, 'live', c.created_at, c.payload), 'UTF8'))
    from (
      select p.seq + 1 as seq, p.hash as prev_hash, gen_random_uuid() as target_id,
        date_trunc('milliseconds', clock_timestamp()) as created_at,
        '{"name":{"new":"Key number ' || p.seq || '","old":"' || repeat('k', 100 + (p.seq % 60)::int) || '"}}' as payload
      from chain p where p.seq < $3
    ) c
  ),
  filled as (
    insert into audit_logs (workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env,
      payload, created_at, prev_hash, hash)
    select $1, seq, 'api_key.updated', 'secret_key', $2, 'api_key', target_id, 'live',
      payload, created_at, prev_hash, hash
    from chain where target_id is not null
  )
  update audit_heads h set seq = last.seq, hash = last.hash
  from (select seq, hash from chain order by seq desc limit 1) last where h.workspace_id = $1`

/** What an autovacuum would have done with enough time. */
const SETTLE = 'vacuum analyze audit_logs'

/** Lengthens a workspace's chain to this many rows, by SQL alone: without any code of the verifier. */
export async function fillChain(
  { query }: ScratchPostgres,
  { workspaceId }: Vendor,
  rows: number,
): Promise<void> {
  const [actor] = await query('select id::text from secret_keys where workspace_id = $1 limit 1', [
    workspaceId,
  ])
  await query(FILL, [workspaceId, actor?.id, rows])
  await query(SETTLE)
  await query('checkpoint')
}

/** Cells of a row, in the chain's order: what every verifier must read. */
export const chainQuery = ({ workspaceId }: Vendor) =>
  `select seq, action, actor_type, actor_id, target_type, target_id, env, payload, created_at, prev_hash, hash
   from audit_logs where workspace_id = '${workspaceId}' order by seq`

/** Writes the hashed bytes to a file, a row a line: they contain no line break, as RFC 8785 escapes it. */
export async function writeCanonicalRows(
  { connection }: ScratchPostgres,
  { workspaceId }: Vendor,
  file: string,
): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    const rows = client.query(
      copyTo(
        `copy (select audit_canonical(workspace_id, seq, action, actor_type, actor_id, target_type, target_id,
           env, created_at, payload) from audit_logs where workspace_id = '${workspaceId}' order by seq) to stdout`,
      ),
    )
    await pipeline(rows, createWriteStream(file))
  } finally {
    await client.end()
  }
}

import { randomBytes, randomUUID } from 'node:crypto'
import { displayPrefix, drawToken, tokenDigest } from '../../packages/server/src/platform/crypto/token.ts'
import { reportPath, signedReport } from '../../packages/server/test/codehost.ts'
import { makePerson } from '../../packages/server/test/people.ts'
import { BenchFault } from '../harness/bench.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import type { Vendor } from './vendor.ts'

const INSERT = `
  with given as (select * from unnest($4::uuid[], $5::bytea[], $6::text[]) g(id, digest, shown)),
  keys as (
    insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, created_at, updated_at)
    select $1, id, $2, $3, 'live', shown, digest, now(), now() from given
  )
  insert into credentials (digest, kind, workspace_id, id) select digest, 'api_key', $1, id from given`

/** Creates keys by SQL alone, spread over the vendors. @returns the keys themselves. */
export async function makeKeys(
  { query }: ScratchPostgres,
  vendors: readonly Vendor[],
  count: number,
): Promise<string[]> {
  const all: string[] = []
  for (const [i, { workspaceId, projectId, tenantIds }] of vendors.entries()) {
    const own = Math.floor((count + i) / vendors.length)
    const tokens = Array.from({ length: own }, () => drawToken('kr_live', randomBytes))
    const ids = tokens.map(() => randomUUID())
    const digests = tokens.map(tokenDigest)
    const shown = tokens.map(displayPrefix)
    await query(INSERT, [workspaceId, projectId, tenantIds[0], ids, digests, shown])
    all.push(...tokens)
  }
  return all
}

/** The recipient of a workspace's mail. */
export const makeOwner = ({ query }: ScratchPostgres, { workspaceId }: Vendor) =>
  makePerson(async (text, values) => await query(text, values), { workspaceId, role: 'owner' })

/**
 * Delivers one report.
 * @returns milliseconds until the answer.
 * @throws BenchFault unless every token was revoked
 */
export async function deliver(url: string, tokens: readonly string[]): Promise<number> {
  const place = { type: 'bench', url: 'https://codehost.example/bench', source: 'commit' }
  const { body, headers } = signedReport(tokens.map(token => ({ token, ...place })))
  const started = performance.now()
  const answer = await fetch(url + reportPath, { method: 'POST', headers, body })
  const text = await answer.text()
  const ms = performance.now() - started
  const revoked = text.split('"true_positive"').length - 1
  if (answer.status !== 200 || revoked !== tokens.length)
    throw new BenchFault(`a report was answered ${answer.status}, ${revoked} of ${tokens.length} revoked`)
  return ms
}

import { readFileSync } from 'node:fs'
import { appendAudit, openChain } from '../packages/server/src/audit/append.ts'
import type { Harness } from '../packages/server/test/harness.ts'

/** A row of the test vectors: its contents, and every step to its hash. */
export interface VectorRow {
  seq: number
  canonical: string
  canonical_hex: string
  prev_hash: string
  hash: string
  /** As `GET /v1/audit_logs` returns it. */
  row: Record<string, unknown>
}

export interface Vectors {
  workspace_id: string
  genesis: string
  rows: VectorRow[]
  head: { seq: number; hash: string }
}

export const publishedVectors = (): Vectors =>
  JSON.parse(readFileSync(new URL('audit-vectors.json', import.meta.url), 'utf8'))

const workspaceId = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
const keyId = '01930c3e-9a10-7d52-8c44-6f0e2b7a1c35'
const secretKeyId = '01930c3e-8f5b-7aa0-b5d1-90c3e4f7a826'
const at = (second: number) => Date.UTC(2026, 0, 31, 9, 30, second, 125)

/** Salts of a test need no randomness: 00 01 02 … 0f, then 10 11 12 … */
function countingBytes() {
  let next = 0
  return (size: number) => Buffer.from(Array.from({ length: size }, () => next++ & 0xff))
}

/** Appends the rows of the vectors with the service's own code, in a workspace with their id. */
export async function appendVectors({ db, query }: Harness): Promise<string> {
  await query(
    `insert into workspaces (id, name, slug, created_at, updated_at) values ($1, 'Acme', 'acme', $2, $2)`,
    [workspaceId, new Date(at(0))],
  )
  const chance = { randomBytes: countingBytes() }
  const workspace = { targetType: 'workspace', targetId: workspaceId, env: null } as const
  const time = new Date(at(0)).toISOString()
  await db.inWorkspace(workspaceId, async tx => {
    openChain(tx)
    const payload = {
      object: 'workspace',
      id: workspaceId,
      name: 'Acme',
      slug: 'acme',
      billing_email: 'ada@example.com',
      embed_origins: [],
      updated_at: time,
      created_at: time,
    }
    const created = { ...workspace, action: 'workspace.created', payload } as const
    appendAudit(chance, tx, { type: 'bootstrap', id: null }, at(0), [created])
  })
  const actor = { type: 'secret_key', id: secretKeyId } as const
  await db.inWorkspace(workspaceId, async tx => {
    // Names that sort differently by code point and by UTF-16 code unit, and numbers with one spelling each.
    const meta = {
      '\u{1f600}': 1e21,
      '\ufb00': 0.000001,
      'café "x"\t': [100, -0, 4.5],
      a: { z: null, b: true },
    }
    const payload = { meta: { old: {}, new: meta } }
    const updated = {
      targetType: 'api_key',
      targetId: keyId,
      env: 'live',
      action: 'api_key.updated',
      payload,
    } as const
    appendAudit(chance, tx, actor, at(1), [updated])
  })
  await db.inWorkspace(workspaceId, async tx => {
    const payload = { billing_email: { old: 'ada@example.com', new: 'grace@example.com' } }
    const updated = { ...workspace, action: 'workspace.updated', payload } as const
    appendAudit(chance, tx, actor, at(2), [updated])
  })
  return workspaceId
}

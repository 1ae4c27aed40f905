import { sql } from '../platform/db/connection.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'

export interface WorkspaceRow {
  id: string
  name: string
  slug: string
  billing_email: string | null
  /** Whether the holder of the mailbox has confirmed it. */
  billing_email_verified: boolean
  embed_origins: string[]
  embed_accent: string | null
  embed_radius: number | null
  embed_logo_text: string | null
  created_at: Date
  updated_at: Date
}

const columns = `id, name, slug, billing_email, embed_origins, embed_accent, embed_radius, embed_logo_text, created_at,
  updated_at, billing_recipient(billing_email, billing_verified_hash) is not null as billing_email_verified`

const insert = sql(
  'workspace.insert',
  `insert into workspaces (id, name, slug, billing_email, embed_origins, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $6)`,
)
const insertSlug = sql(
  'workspace.insert_slug',
  'insert into workspace_slugs (slug, workspace_id) values ($1, $2)',
  { workspace_slugs_pkey: 'slug_taken' },
)
export function insertWorkspace(tx: Tx, row: WorkspaceRow): void {
  tx.send(insert, [row.id, row.name, row.slug, row.billing_email, row.embed_origins, row.created_at])
  tx.send(insertSlug, [row.slug, row.id])
}

const find = sql('workspace.find', `select ${columns} from workspaces where id = $1`)
export async function findWorkspace(tx: ReadTx): Promise<WorkspaceRow | null> {
  const [row] = await tx.query<WorkspaceRow>(find, [tx.workspaceId])
  return row ?? null
}

const lock = sql('workspace.lock', `select ${columns} from workspaces where id = $1 for no key update`)
export async function lockWorkspace(tx: Tx): Promise<WorkspaceRow | null> {
  const [row] = await tx.query<WorkspaceRow>(lock, [tx.workspaceId])
  return row ?? null
}

const update = sql(
  'workspace.update',
  `update workspaces set name = $2, billing_email = $3,
     billing_verified_hash = case when billing_email is not distinct from $3 then billing_verified_hash end, embed_origins = $4, embed_accent = $5, embed_radius = $6,
     embed_logo_text = $7, updated_at = $8 where id = $1`,
)
export const updateWorkspaceRow = (tx: Tx, row: WorkspaceRow) =>
  tx.send(update, [
    tx.workspaceId,
    row.name,
    row.billing_email,
    row.embed_origins,
    row.embed_accent,
    row.embed_radius,
    row.embed_logo_text,
    row.updated_at,
  ])

const putToken = sql(
  'workspace.put_billing_token',
  `update workspaces set billing_token_digest = $2, billing_token_hash = sha256(convert_to($3, 'UTF8')),
     billing_token_expires_at = service_now() + make_interval(days => $4)
   where id = $1`,
)
/** A new token retires the last one. */
export const storeBillingToken = (tx: Tx, digest: Buffer, address: string, days: number) =>
  tx.send(putToken, [tx.workspaceId, digest, address, days])

const useToken = sql(
  'workspace.use_billing_token',
  `update workspaces set billing_verified_hash = billing_token_hash, billing_token_digest = null,
     updated_at = service_now()
   where id = $1 and billing_token_digest = $2 and billing_token_expires_at > service_now()
     and billing_token_hash = sha256(convert_to(billing_email, 'UTF8'))
   returning id`,
)
/** @returns whether the token was that of the newest link to the workspace's present address. */
export const useBillingToken = async (tx: Tx, digest: Buffer): Promise<boolean> =>
  (await tx.query(useToken, [tx.workspaceId, digest])).length > 0

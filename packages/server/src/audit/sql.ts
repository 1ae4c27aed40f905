import type { Env } from '@keyrail/contract/shared'
import type { AuditAction, AuditLog } from '@keyrail/contract/vendor/audit'
import pg from 'pg'
import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'

export interface AuditRow {
  seq: number
  action: AuditAction
  actor_type: AuditLog['actor_type']
  actor_id: string | null
  target_type: AuditLog['target_type']
  target_id: string
  env: Env | null
  payload: string
  created_at: Date
  prev_hash: Buffer
  hash: Buffer
  /** Addresses that have not been erased. */
  addresses: { path: string; address: string; salt: string }[] | null
  /** The person who did it, while their account is there. */
  person: { email: string; name: string | null } | null
}

const columns = `l.seq, l.action, l.actor_type, l.actor_id, l.target_type, l.target_id, l.env, l.payload, l.created_at,
  l.prev_hash, l.hash,
  (select json_agg(json_build_object('path', a.path, 'address', a.address, 'salt', encode(a.salt, 'base64')))
   from audit_addresses a where a.workspace_id = l.workspace_id and a.seq = l.seq) as addresses`

/** An actor's id may be no UUID in a row that was tampered with, which must be readable all the same. */
const person = `(select json_build_object('email', u.email, 'name', u.name) from users u
   where u.id = case when l.actor_type = 'user' and l.actor_id ~ '^[0-9a-f-]{36}$' then l.actor_id::uuid end) as person`

const all = `select ${columns}, ${person} from audit_logs l
   where l.workspace_id = $1 and l.seq > $2 order by l.seq limit $3`

/**
 * What a test credential sees: rows without an environment and rows of test, and of those about a key only
 * the ones whose key is there and is a test key.
 */
const ofTest = `select ${columns}, null::json as person from audit_logs l
   where l.workspace_id = $1 and l.seq > $2 and coalesce(l.env, 'test') = 'test'
     and case l.target_type
       when 'api_key' then exists (select from api_keys k
         where k.workspace_id = l.workspace_id and k.id = l.target_id and k.env = 'test')
       when 'secret_key' then exists (select from secret_keys k
         where k.workspace_id = l.workspace_id and k.id = l.target_id and k.env = 'test')
       else true end
   order by l.seq limit $3`

const list = sql('audit.list', all)
const listTest = sql('audit.list_test', ofTest)

/** Rising by seq, one more than the limit. */
export const listAuditRows = (tx: Tx, reach: 'test' | 'both', afterSeq: number, limit: number) =>
  tx.query<AuditRow>(reach === 'test' ? listTest : list, [tx.workspaceId, afterSeq, limit + 1])

/** As many rows of a page as their payloads have bytes for, and one at least. */
const withinBytes = (page: string) =>
  `select p.seq, p.action, p.actor_type, p.actor_id, p.target_type, p.target_id, p.env, p.payload, p.created_at,
     p.prev_hash, p.hash, p.addresses, p.person
   from (select r.*, sum(octet_length(r.payload)) over (order by r.seq) - octet_length(r.payload) as before
         from (${page}) r) p
   where p.before < $4 order by p.seq`
const exportPage = sql('audit.export', withinBytes(all))
const exportPageTest = sql('audit.export_test', withinBytes(ofTest))

/** Rising by seq; none when there are no more. */
export const readExportPage = (
  tx: Tx,
  reach: 'test' | 'both',
  afterSeq: number,
  { rows, bytes }: { rows: number; bytes: number },
) =>
  tx.query<AuditRow>(reach === 'test' ? exportPageTest : exportPage, [tx.workspaceId, afterSeq, rows, bytes])

/**
 * The whole chain as `CopiedRows` reads it. COPY takes no parameters, and gives out rows about three times as
 * fast as pages of a prepared statement.
 */
export const chainCopy = (workspaceId: string): string =>
  `copy (
     select seq, action, actor_type, actor_id, target_type, target_id, env, payload, created_at, prev_hash, hash
     from audit_logs where workspace_id = ${pg.escapeLiteral(workspaceId)} order by seq
   ) to stdout (format binary)`

export const chainHead = sql('audit.chain_head', 'select seq, hash from audit_heads where workspace_id = $1')

/** Side rows with what their audit row says of them, by pages. */
export const addressPage = sql(
  'audit.address_page',
  `select a.seq, a.path, a.address, a.salt, l.action, l.payload
   from audit_addresses a join audit_logs l on l.workspace_id = a.workspace_id and l.seq = a.seq
   where a.workspace_id = $1 and (a.seq, a.path) >= ($2, $3) order by a.seq, a.path limit $4`,
)

export interface AddressPageRow {
  seq: number
  path: string
  address: string
  salt: Buffer
  action: AuditAction
  payload: string
}

/** The seq of the last row. */
export async function readHead(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ seq: number }>(chainHead, [tx.workspaceId])
  return row?.seq ?? 0
}

import type { Env } from '@keyrail/contract/shared'
import type { AuditAction, AuditLog } from '@keyrail/contract/vendor/audit'
import pg from 'pg'
import { sql } from '../platform/db/connection.ts'
import type { ReadTx } from '../platform/db/transaction.ts'

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
  /** The addresses that are not erased. */
  addresses: { path: string; address: string; salt: string }[] | null
  /** The acting person, as long as the account exists. */
  person: { email: string; name: string | null } | null
  /** The address from which the change was made, if it is kept. */
  ip: string | null
  /** The acting secret key, as long as the workspace has it. Only in lists. */
  secret_key?: { name: string | null; display_prefix: string } | null
  /** The tenant of the acting embed token, as long as the changed key exists. Only in lists. */
  tenant?: { id: string; external_id: string; name: string | null } | null
}

export const columns = `l.seq, l.action, l.actor_type, l.actor_id, l.target_type, l.target_id, l.env, l.payload, l.created_at,
  l.prev_hash, l.hash,
  (select json_agg(json_build_object('path', a.path, 'address', a.address, 'salt', encode(a.salt, 'base64')))
   from audit_addresses a where a.workspace_id = l.workspace_id and a.seq = l.seq) as addresses`

/** In a tampered row the actor's id may not be a UUID, and the row must still be readable. */
const person = `(select json_build_object('email', u.email, 'name', u.name) from users u
   where u.id = case when l.actor_type = 'user' and l.actor_id ~ '^[0-9a-f-]{36}$' then l.actor_id::uuid end) as person`

/** One row for all rows that a transaction appended. */
const ip = `(select case when c.last_seq >= l.seq then c.ip end from audit_callers c
   where c.workspace_id = l.workspace_id and c.first_seq <= l.seq order by c.first_seq desc limit 1) as ip`

/** What only live credentials see of the actor. */
export const who = `${person}, ${ip}`
export const whoWithheld = 'null::json as person, null::text as ip'

const all = `select ${columns}, ${who} from audit_logs l
   where l.workspace_id = $1 and l.seq > $2 order by l.seq limit $3`

/**
 * The rows that a test credential sees: rows without an environment and rows of test. Rows about a key are included only
 * when the key exists and is a test key.
 */
export const isTestTarget = `case l.target_type
       when 'api_key' then exists (select from api_keys k
         where k.workspace_id = l.workspace_id and k.id = l.target_id and k.env = 'test')
       when 'secret_key' then exists (select from secret_keys k
         where k.workspace_id = l.workspace_id and k.id = l.target_id and k.env = 'test')
       else true end`
export const isOfTest = `coalesce(l.env, 'test') = 'test' and ${isTestTarget}`

const ofTest = `select ${columns}, ${whoWithheld} from audit_logs l
   where l.workspace_id = $1 and l.seq > $2 and ${isOfTest}
   order by l.seq limit $3`

/** Cuts a page where its payloads exceed the byte limit, after at least one row. */
const withinBytes = (page: string) =>
  `select p.seq, p.action, p.actor_type, p.actor_id, p.target_type, p.target_id, p.env, p.payload, p.created_at,
     p.prev_hash, p.hash, p.addresses, p.person, p.ip
   from (select r.*, sum(octet_length(r.payload)) over (order by r.seq) - octet_length(r.payload) as before
         from (${page}) r) p
   where p.before < $4 order by p.seq`
const exportPage = sql('audit.export', withinBytes(all))
const exportPageTest = sql('audit.export_test', withinBytes(ofTest))

/** In order of seq; empty when there are no more. */
export const readExportPage = (
  tx: ReadTx,
  reach: 'test' | 'both',
  afterSeq: number,
  { rows, bytes }: { rows: number; bytes: number },
) =>
  tx.query<AuditRow>(reach === 'test' ? exportPageTest : exportPage, [tx.workspaceId, afterSeq, rows, bytes])

/**
 * Selects the whole chain for `CopiedRows`. COPY takes no parameters, and is about three times as fast as pages of a
 * prepared statement.
 */
export const chainCopy = (workspaceId: string): string =>
  `copy (
     select seq, action, actor_type, actor_id, target_type, target_id, env, payload, created_at, prev_hash, hash
     from audit_logs where workspace_id = ${pg.escapeLiteral(workspaceId)} order by seq
   ) to stdout (format binary)`

export const chainHead = sql('audit.chain_head', 'select seq, hash from audit_heads where workspace_id = $1')

/** Side rows with the parts of their audit rows that they must match, in pages. */
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
export async function readHead(tx: ReadTx): Promise<number> {
  const [row] = await tx.query<{ seq: number }>(chainHead, [tx.workspaceId])
  return row?.seq ?? 0
}

/** The time of the day of a workspace `w`, from its id, so that not all chains of a database are due at the same moment. */
const timeOfDay = `make_interval(secs => ('x' || right(w.id::text, 6))::bit(24)::int % 86400)`
/** The next such time after a moment. */
const nextAfter = (moment: string) =>
  `date_trunc('day', ${moment} - ${timeOfDay}, 'UTC') + interval '1 day' + ${timeOfDay}`
const dueAt = `coalesce(h.verification_due_at, ${nextAfter('w.created_at')})`

/** Workspaces whose daily verification is due, the longest due first. A workspace without a head is always due, and broken. */
export const dueChains = sql(
  'audit.due_chains',
  `select w.id from workspaces w left join audit_heads h on h.workspace_id = w.id
   where h.workspace_id is null or ${dueAt} <= service_now()
   order by h.workspace_id is null, ${dueAt} limit $1`,
)
export const noteVerification = sql(
  'audit.note_verification',
  `update audit_heads h set verified_at = service_now(), first_bad_seq = $2::bigint,
     verification_due_at = case when $2::bigint is null then ${nextAfter('service_now()')}
       else service_now() + interval '1 hour' end
   from workspaces w where w.id = h.workspace_id and h.workspace_id = $1`,
)
export const chainFigures = sql(
  'audit.chain_figures',
  `select count(*) filter (where h.verified_at is not null and h.first_bad_seq is null)::int as valid,
     count(*) filter (where h.workspace_id is null or h.first_bad_seq is not null)::int as broken,
     count(*) filter (where h.workspace_id is not null and h.verified_at is null)::int as unverified,
     coalesce(extract(epoch from max(h.verified_at)), 0)::float8 as last,
     coalesce(greatest(extract(epoch from service_now() - min(${dueAt}) filter (where h.workspace_id is not null)), 0), 0)::float8
       as overdue
   from workspaces w left join audit_heads h on h.workspace_id = w.id`,
)

import type { Role } from '@keyrail/contract/shared'
import { keysMadeSql } from '../gate/made.ts'
import { type Statement, sql } from '../platform/db/connection.ts'
import { changesOne, RightNotEnded } from '../platform/db/touch.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'

export interface InviteRow {
  id: string
  email: string
  role: Role
  created_at: Date
  expires_at: Date
  accepted_at: Date | null
  revoked_at: Date | null
  /** Null for rows of an old release, which did not store it. */
  created_by_type: 'user' | 'secret_key' | null
  created_by_id: string | null
  /** Whether it has expired, by the database clock. */
  is_over: boolean
}

const columns = `id, email, role, created_at, expires_at, accepted_at, revoked_at, created_by_type, created_by_id,
  expires_at <= service_now() as is_over`
const pending = 'accepted_at is null and revoked_at is null and expires_at > service_now()'

const lockWorkspace = sql(
  'invites.lock_workspace',
  'select id from workspaces where id = $1 for no key update',
)
/** Serialises invitations of a workspace, so that the second for one address retires the first. */
export const lockInvitations = (tx: Tx) => tx.send(lockWorkspace, [tx.workspaceId])

const findMember = sql(
  'invites.find_member',
  `select m.user_id from workspace_members m join users u on u.id = m.user_id
   where m.workspace_id = $1 and m.removed_at is null and u.address_key = $2`,
)
export async function isMember(tx: Tx, addressKey: string): Promise<boolean> {
  return (await tx.query(findMember, [tx.workspaceId, addressKey])).length > 0
}

const retire = sql(
  'invites.retire',
  `update workspace_invites set revoked_at = service_now()
   where workspace_id = $1 and address_key = $2 and ${pending} returning ${columns}`,
)
/** @returns those that were still pending. */
export const retireInvites = (tx: Tx, addressKey: string) =>
  tx.query<InviteRow>(retire, [tx.workspaceId, addressKey])

const insert = sql(
  'invites.insert',
  `with clock as materialized (select service_now() as now)
   insert into workspace_invites (workspace_id, id, email, address_key, role, digest, created_by_type, created_by_id,
     created_in_session, invited_by, created_at, expires_at)
   select $1, $2, $3, $4, $5, $6, $7::text, $8::text, $9, case $7::text when 'user' then $8::text::uuid end, clock.now,
     clock.now + make_interval(days => $10)
   from clock returning ${columns}`,
)
export interface NewInvite {
  id: string
  email: string
  addressKey: string
  role: Role
  digest: Buffer
  maker: { type: 'user' | 'secret_key'; id: string }
  /** The session in which a person made it; null for a key. */
  sessionId: string | null
  days: number
}
export async function insertInvite(tx: Tx, invite: NewInvite): Promise<InviteRow> {
  const { id, email, addressKey, role, digest, maker, sessionId, days } = invite
  const values = [tx.workspaceId, id, email, addressKey, role, digest, maker.type, maker.id, sessionId, days]
  const [row] = await tx.query<InviteRow>(insert, values)
  return row as InviteRow
}

/**
 * Rows that the previous release wrote during a rolling deployment name a person in `invited_by`. The maker of the other
 * old rows is unknown, so they end with the first maker that ends.
 */
export const retireBelow = sql(
  'invites.retire_below',
  `${keysMadeSql}
   update workspace_invites set revoked_at = service_now()
   where workspace_id = $1 and id = any(array(
     select id from workspace_invites where workspace_id = $1 and ${pending} and (
       (created_by_type = $2 and created_by_id = $3)
       or (created_by_type = 'secret_key' and created_by_id = any(array(select id::text from made)))
       or ($2 = 'session' and created_in_session = $3::uuid)
       or (created_by_type is null and (invited_by is null or ($2 = 'user' and invited_by = $3::uuid))))
     limit $4)) and ${pending}
   returning ${columns}`,
)
/** @returns those that were still pending, at most `most`, unordered. */
export const retireInvitesBelow = (tx: Tx, maker: { type: MakerType; id: string }, most: number) =>
  tx.query<InviteRow>(retireBelow, [tx.workspaceId, maker.type, maker.id, most])
type MakerType = 'user' | 'secret_key' | 'session'

const count = sql(
  'invites.count',
  `select count(*)::int as count from workspace_invites
   where workspace_id = $1 and created_at > service_now() - interval '1 hour'`,
)
/** Those of the last hour. */
export async function countInvites(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ count: number }>(count, [tx.workspaceId])
  return row?.count ?? 0
}

const list = sql(
  'invites.list',
  `select ${columns} from workspace_invites
   where workspace_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`,
)
/** Newest first, one row more than the limit. */
export const listInviteRows = (tx: ReadTx, before: string | null, limit: number) =>
  tx.list<InviteRow>(list, [tx.workspaceId, before, limit + 1], { most: limit + 1 })

const find = sql(
  'invites.find',
  `select ${columns} from workspace_invites where workspace_id = $1 and id = $2 for update`,
)
export async function lockInvite(tx: Tx, id: string): Promise<InviteRow | null> {
  const [row] = await tx.query<InviteRow>(find, [tx.workspaceId, id])
  return row ?? null
}

const revoke = sql(
  'invites.revoke',
  `update workspace_invites set revoked_at = service_now()
   where workspace_id = $1 and id = $2 returning ${columns}`,
)
export async function revokeInviteRow(tx: Tx, id: string): Promise<InviteRow> {
  const [row] = await tx.query<InviteRow>(revoke, [tx.workspaceId, id])
  if (row === undefined) throw new RightNotEnded('the invitation')
  return row
}

export interface FoundInvite {
  id: string
  email: string
  address_key: string
  role: Role
  /** Whether it is the mailed token, which proves the mailbox. */
  is_mailed: boolean
}
/**
 * Whether a maker above the invitation has ended, and what it made is still being ended. Only then does it look above.
 * The maker of some old rows is unknown.
 */
const isEnding = `case when exists (select from endings where workspace_id = $1 and done_at is null) then
     i.created_by_type is null or exists (
       with recursive above (type, id, session) as (
         select i.created_by_type, i.created_by_id, i.created_in_session
         union
         select k.created_by_type, k.created_by_id, k.created_in_session from above a join secret_keys k
           on a.type = 'secret_key' and k.workspace_id = $1 and k.id = a.id::uuid
       )
       select from above a join endings e on e.workspace_id = $1 and e.done_at is null and (
         (e.maker_type = a.type and e.maker_id::text = a.id) or (e.maker_type = 'session' and e.maker_id = a.session)))
     else false end`
const byToken = `workspace_id = $1 and (digest = $2 or mailed_digest = $2) and ${pending} and not (${isEnding})`
const findByToken = sql(
  'invites.find_by_token',
  `select id, email, address_key, role, coalesce(mailed_digest = $2, false) as is_mailed
   from workspace_invites i where ${byToken} for update`,
)
/**
 * Either token finds a pending invitation; of two concurrent requests, the second finds none. One that is about to end
 * with a maker above it has ended.
 */
export async function lockInviteByToken(tx: Tx, digest: Buffer): Promise<FoundInvite | null> {
  const [row] = await tx.query<FoundInvite>(findByToken, [tx.workspaceId, digest])
  return row ?? null
}

/** The person who made it; null for a key. */
const invitedBy = `(
  select jsonb_build_object('email', u.email, 'name', u.name) from workspace_members m join users u on u.id = m.user_id
  where m.workspace_id = $1 and m.removed_at is null
    and m.user_id = case created_by_type when 'user' then created_by_id::uuid end) as invited_by`
interface MailedInvite {
  email: string
  role: Role
  invited_by: { email: string; name: string | null } | null
}

const showByToken = sql(
  'invites.show_by_token',
  `select email, role, expires_at, (select w.name from workspaces w where w.id = $1) as workspace_name, ${invitedBy}
   from workspace_invites i where ${byToken}`,
)
export interface ShownInvite extends MailedInvite {
  expires_at: Date
  workspace_name: string
}
/** Finds what `lockInviteByToken` finds, and locks nothing. */
export async function showInviteByToken(tx: ReadTx, digest: Buffer): Promise<ShownInvite | null> {
  const [row] = await tx.query<ShownInvite>(showByToken, [tx.workspaceId, digest])
  return row ?? null
}

const accept = sql(
  'invites.accept',
  changesOne('update workspace_invites set accepted_at = service_now() where workspace_id = $1 and id = $2'),
)
export const acceptInviteRow = (tx: Tx, id: string) => tx.send(accept, [tx.workspaceId, id])

const findWorkspace = sql('invites.find_workspace', 'select id, name, slug from workspaces where id = $1')
export async function readWorkspace(tx: Tx): Promise<{ id: string; name: string; slug: string }> {
  const [row] = await tx.query<{ id: string; name: string; slug: string }>(findWorkspace, [tx.workspaceId])
  return row as { id: string; name: string; slug: string }
}

const putMailed = sql(
  'invites.put_mailed',
  `update workspace_invites set mailed_digest = $3
   where workspace_id = $1 and id = $2 and ${pending} returning email, role, ${invitedBy}`,
)
/** @returns null when it is no longer pending. */
export async function storeMailedToken(tx: Tx, id: string, digest: Buffer): Promise<MailedInvite | null> {
  const [row] = await tx.query<MailedInvite>(putMailed, [tx.workspaceId, id, digest])
  return row ?? null
}

/** Which of these addresses are invited anywhere, without the workspace or the maker. */
export const findInvited: Statement = sql(
  'invites.find_invited',
  `select d.place from unnest($1::text[]) with ordinality d(address_key, place)
   where exists (select from workspace_invites i where i.address_key = d.address_key
     and i.accepted_at is null and i.revoked_at is null and i.expires_at > service_now())`,
)

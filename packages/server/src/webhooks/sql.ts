import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'

export type LeakedKind = 'api_key' | 'secret_key' | 'session'

/**
 * Whose a credential is, in any workspace: the credential first, by its digest alone, its record second. A session is of
 * the workspace in which it acts, as the gate would find it; what was made in it may be in any of which its person was
 * ever a member.
 */
export const findLeaked = sql(
  'webhooks.find_leaked',
  `with found as materialized (
     select d.place, c.kind, c.workspace_id, c.id
     from unnest($1::bytea[]) with ordinality d(digest, place) join credentials c on c.digest = d.digest
   )
   select f.place, f.kind, f.id, s.user_id, coalesce(f.workspace_id, m.workspace_id) as workspace_id,
     array(select o.workspace_id from workspace_members o where o.user_id = s.user_id order by o.workspace_id) as all_of_person
   from found f
   left join sessions s on f.kind = 'session' and s.id = f.id
   left join workspace_members m on m.workspace_id = s.acts_in and m.user_id = s.user_id and m.removed_at is null`,
)

export interface RecipientRow {
  /** Null for the billing address. */
  user_id: string | null
  email: string
}
const owners = `select m.user_id, u.email from workspace_members m join users u on u.id = m.user_id
   where m.workspace_id = $1 and m.role = 'owner' and m.removed_at is null`
const billing = 'select null::uuid as user_id, billing_email as email from workspaces where id = $1'
const listRecipients = sql(
  'webhooks.recipients',
  `${owners} union all ${billing} and billing_email is not null order by user_id`,
)
/** Who is to know of a leak: the owners, and last the billing address. */
export const listRecipientRows = (tx: Tx) => tx.query<RecipientRow>(listRecipients, [tx.workspaceId])

export interface LeakRow {
  credential_id: string
  kind: LeakedKind
  display_prefix: string
  url: string | null
  source: string | null
  /** What ended with it. */
  secret_keys_revoked: number
  invitations_revoked: number
}
const insert = sql(
  'webhooks.insert_leak',
  `insert into leak_reports (workspace_id, credential_id, kind, display_prefix, url, source, secret_keys_revoked,
     invitations_revoked, reported_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, service_now())
   on conflict (workspace_id, credential_id) do update set url = excluded.url, source = excluded.source,
     secret_keys_revoked = leak_reports.secret_keys_revoked + excluded.secret_keys_revoked,
     invitations_revoked = leak_reports.invitations_revoked + excluded.invitations_revoked,
     reported_at = excluded.reported_at`,
)
/** Told again of a credential that something more ended with, it adds that. */
export const insertLeak = (tx: Tx, leak: LeakRow) =>
  tx.send(insert, [
    tx.workspaceId,
    leak.credential_id,
    leak.kind,
    leak.display_prefix,
    leak.url,
    leak.source,
    leak.secret_keys_revoked,
    leak.invitations_revoked,
  ])

const read = sql(
  'webhooks.read_leak',
  `select l.credential_id, l.kind, l.display_prefix, l.url, l.source, l.secret_keys_revoked, l.invitations_revoked,
     w.name as workspace_name,
     case when $3::uuid is null then w.billing_email else (select email from (${owners}) o where o.user_id = $3) end
       as email
   from leak_reports l join workspaces w on w.id = l.workspace_id
   where l.workspace_id = $1 and l.credential_id = $2`,
)
/** @param userId of the owner who is written to; null for the billing address. `email`: null when that is no more. */
export async function readLeak(
  tx: Tx,
  credentialId: string,
  userId: string | null,
): Promise<(LeakRow & { workspace_name: string; email: string | null }) | null> {
  const [row] = await tx.query<LeakRow & { workspace_name: string; email: string | null }>(read, [
    tx.workspaceId,
    credentialId,
    userId,
  ])
  return row ?? null
}

/** Thirty days after the mail, which is sent within a day or never. */
export const pruneLeakRows = `delete from leak_reports where (workspace_id, credential_id) in (
     select workspace_id, credential_id from leak_reports where reported_at < service_now() - interval '30 days'
     limit 1000 for update skip locked)`

import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'

export type LeakedKind = 'api_key' | 'secret_key' | 'session'

/**
 * Finds a credential in any workspace by its digest, then its record. A session belongs to the workspace in which it
 * acts, as for the gate; what was made in it may be in any workspace that its person was ever a member of. An API key
 * comes with its project, which cannot change.
 */
export const findLeaked = sql(
  'leaks.find_leaked',
  `with found as materialized (
     select d.place, c.kind, c.workspace_id, c.id
     from unnest($1::bytea[]) with ordinality d(digest, place) join credentials c on c.digest = d.digest
     where c.kind <> 'api_key' or exists (select from api_keys k where k.workspace_id = c.workspace_id and k.id = c.id)
   )
   select f.place, f.kind, f.id, s.user_id, coalesce(f.workspace_id, m.workspace_id) as workspace_id,
     k.project_id,
     array(select o.workspace_id from workspace_members o where o.user_id = s.user_id order by o.workspace_id) as all_of_person
   from found f
   left join api_keys k on f.kind = 'api_key' and k.workspace_id = f.workspace_id and k.id = f.id
   left join sessions s on f.kind = 'session' and s.id = f.id
   left join workspace_members m on m.workspace_id = s.acts_in and m.user_id = s.user_id and m.removed_at is null`,
)

export interface RecipientRow {
  /** Null for the billing address. */
  user_id: string | null
  email: string
}
const owners = `select m.user_id, u.email, u.email_verified_at is not null as is_verified from workspace_members m join users u on u.id = m.user_id
   where m.workspace_id = $1 and m.role = 'owner' and m.removed_at is null`
const billing = `select null::uuid, billing_recipient(billing_email, billing_verified_hash) as email, true from workspaces
   where id = $1 and billing_recipient(billing_email, billing_verified_hash) is not null`
const listRecipients = sql('leaks.recipients', `${owners} union all ${billing} order by user_id`)
/** The recipients of the mail: the owners, and last the billing address. */
export const listRecipientRows = (tx: Tx) => tx.query<RecipientRow>(listRecipients, [tx.workspaceId])

export interface LeakRow {
  credential_id: string
  kind: LeakedKind
  display_prefix: string
  url: string | null
  source: string | null
}
const insert = sql(
  'leaks.insert_leak',
  `insert into leak_reports (workspace_id, credential_id, kind, display_prefix, url, source, letter_id, reported_at)
   values ($1, $2, $3, $4, $5, $6, $7, service_now())
   on conflict (workspace_id, credential_id) do update set url = excluded.url, source = excluded.source,
     letter_id = excluded.letter_id, reported_at = excluded.reported_at`,
)
/**
 * A repeated report of a credential replaces its place.
 * @param letterId the letter that names several credentials; null: the letter names only this one.
 */
export const insertLeak = (tx: Tx, leak: LeakRow, letterId: string | null) =>
  tx.send(insert, [
    tx.workspaceId,
    leak.credential_id,
    leak.kind,
    leak.display_prefix,
    leak.url,
    leak.source,
    letterId,
  ])

const note = sql(
  'leaks.note_letter',
  'insert into leak_letters (workspace_id, letter_id, noted_at) values ($1, $2, service_now()) on conflict do nothing',
)
/** Notes that a letter is to be queued, so that it is not lost with this process. */
export const noteLetter = (tx: Tx, letterId: string) => tx.send(note, [tx.workspaceId, letterId])

const take = sql(
  'leaks.take_letter',
  'delete from leak_letters where workspace_id = $1 and letter_id = $2 returning letter_id',
)
/** @returns whether the letter was still to be queued. */
export const takeLetter = async (tx: Tx, letterId: string): Promise<boolean> =>
  (await tx.query(take, [tx.workspaceId, letterId])).length > 0

/**
 * Takes a letter that its process has left behind, of any workspace. A report takes 25 s at most.
 * @returns one row for each recipient, and one of nulls if there is none.
 */
export const takeLeftLetter = `with taken as (
     delete from leak_letters where (workspace_id, letter_id) in (
       select workspace_id, letter_id from leak_letters where noted_at < service_now() - interval '1 minute'
       order by noted_at limit 1 for update skip locked)
     returning workspace_id, letter_id)
   select t.workspace_id, t.letter_id, r.user_id, r.email from taken t left join lateral (
     ${owners.replace('$1', 't.workspace_id')} union all ${billing.replace('$1', 't.workspace_id')}) r on true
   order by r.user_id`

const readBy = (name: string, condition: string) =>
  sql(
    name,
    `select l.credential_id, l.kind, l.display_prefix, l.source, case when r.is_verified then l.url end as url,
       l.secret_keys_revoked + coalesce(e.secret_keys_revoked, 0) as secret_keys_revoked,
       l.invitations_revoked + coalesce(e.invitations_revoked, 0) as invitations_revoked,
       e.maker_id is not null and e.done_at is null as is_ending,
       l.url is not null and r.is_verified is false as is_url_hidden,
       case when r.is_verified then w.name end as workspace_name, (count(*) over ())::int as named,
       (count(*) filter (where l.kind = 'secret_key') over ())::int as named_secret_keys,
       (count(*) filter (where l.kind = 'session') over ())::int as named_sessions,
       r.email
     from leak_reports l join workspaces w on w.id = l.workspace_id
       left join (${owners} union all ${billing}) r on r.user_id is not distinct from $3::uuid
       left join endings e on e.workspace_id = l.workspace_id and e.maker_type = l.kind and e.maker_id = l.credential_id
     where l.workspace_id = $1 and ${condition} order by l.kind desc, l.reported_at, l.credential_id limit $4`,
  )
const readOne = readBy('leaks.read_leak', 'l.credential_id = $2')
/** Without an index: each letter reads what leaked in the workspace in thirty days. */
const readOfLetter = readBy('leaks.read_letter', 'l.letter_id = $2')
/** The leak of a session, or the leaks of a report, and all later ones. */
const readSince = readBy(
  'leaks.read_gathered',
  `l.reported_at >= (select min(f.reported_at) from leak_reports f
     where f.workspace_id = $1 and (f.credential_id = $2 or f.letter_id = $5))`,
)

export interface LetterRow extends LeakRow {
  /** How many credentials ended with it. A row of an older release counts for itself alone. */
  secret_keys_revoked: number
  invitations_revoked: number
  /** Whether more credentials are still to end with it. */
  is_ending: boolean
  /** Null, as `url` is, when the recipient's address is unverified: such a letter contains no words that callers chose. */
  workspace_name: string | null
  is_url_hidden: boolean
  /** Null when the recipient is no longer an owner, or the billing address was removed. */
  email: string | null
  /** How many credentials the letter is about, including those that are not read. */
  named: number
  named_secret_keys: number
  named_sessions: number
}
/** @param userId the owner who receives the mail; null for the billing address. */
export const readLeak = (tx: Tx, credentialId: string, userId: string | null) =>
  tx.query<LetterRow>(readOne, [tx.workspaceId, credentialId, userId, 1])
/** @param most how many credentials are read. */
export const readLetter = (tx: Tx, letterId: string, userId: string | null, most: number) =>
  tx.query<LetterRow>(readOfLetter, [tx.workspaceId, letterId, userId, most])
export const readGathered = (
  tx: Tx,
  credentialId: string | null,
  letterId: string | null,
  userId: string | null,
  most: number,
) => tx.query<LetterRow>(readSince, [tx.workspaceId, credentialId, userId, most, letterId])

/** After thirty days. The mail is sent within a day or never. */
export const pruneLeakRows = `delete from leak_reports where (workspace_id, credential_id) in (
     select workspace_id, credential_id from leak_reports where reported_at < service_now() - interval '30 days'
     limit 1000 for update skip locked)`

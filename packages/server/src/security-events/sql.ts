import type { SecurityEventKind } from '@keyrail/contract/security-events'
import { type Statement, sql } from '../platform/db/connection.ts'
import type { PersonTx, ReadTx, Transaction, Tx } from '../platform/db/transaction.ts'
import { type NewEvent, nowhere } from './event.ts'

export interface EventRow {
  workspace_id: string
  id: string
  kind: SecurityEventKind
  user_id: string | null
  actor_type: string | null
  actor_id: string | null
  ip: string | null
  user_agent: string | null
  count: number
  details: Record<string, unknown>
  created_at: Date
  last_at: Date
}

/** A new event as a row. */
export const rowOf = (event: NewEvent, id: string, at: Date, count: number): EventRow => ({
  workspace_id: event.workspaceId ?? nowhere,
  id,
  kind: event.kind,
  user_id: event.userId,
  actor_type: event.actor?.type ?? null,
  actor_id: event.actor?.id ?? null,
  ip: event.client?.ip ?? null,
  user_agent: event.client?.userAgent ?? null,
  count,
  details: { ...event.details },
  created_at: at,
  last_at: at,
})

export type NewRow = EventRow & { device: Buffer | null }

const columns = `workspace_id, id, kind, user_id, actor_type, actor_id, ip, user_agent, count, details, created_at, last_at`

/** If the person has left the workspace by now, the event has no workspace. */
const insert = sql(
  'security_events.insert',
  `insert into security_events (${columns}, device)
   select case when $1 = app_workspace_id() or exists (
       select from workspace_members m where m.workspace_id = $1 and m.user_id = $4 and m.removed_at is null)
     then $1 else '${nowhere}' end, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13`,
)
export const insertEvent = (tx: Transaction, row: NewRow) =>
  tx.send(insert, [
    row.workspace_id,
    row.id,
    row.kind,
    row.user_id,
    row.actor_type,
    row.actor_id,
    row.ip,
    row.user_agent,
    row.count,
    JSON.stringify(row.details),
    row.created_at,
    row.last_at,
    row.device,
  ])

/**
 * Writes rows of many scopes at once, as the role that owns the tables. Each row has the total count so far, so writing
 * it again is harmless. Rows of a person being erased or of a deleted workspace are dropped.
 */
export const writeEvents: Statement = sql(
  'security_events.write',
  `with people as materialized (
     select id from users where id = any($4::uuid[]) for key share skip locked
   )
   insert into security_events (${columns})
   select ${columns.replaceAll(/\w+/g, 'e.$&')}
   from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[],
     $10::jsonb[], $11::timestamptz[], $12::timestamptz[]) as e(${columns})
   where (e.user_id is null or exists (select from people p where p.id = e.user_id))
     and (e.workspace_id = '${nowhere}' or exists (select from workspaces w where w.id = e.workspace_id))
   on conflict (workspace_id, id) do update
     set count = greatest(security_events.count, excluded.count),
       last_at = greatest(security_events.last_at, excluded.last_at)`,
)

export interface Wanted {
  readonly kind: string | null
  /** The lowest id. */
  readonly from: string | null
  /** The id above the highest. */
  readonly before: string | null
  readonly limit: number
}

/**
 * Two index scans, each at most one page long. A workspace sees what happened to the account of a member since the
 * member joined, but not from which address: that is private to the person.
 */
const list = sql(
  'security_events.list',
  `(select ${columns} from security_events
    where workspace_id = $1 and ($2::text is null or kind = $2) and ($3::uuid is null or id < $3)
      and ($4::uuid is null or user_id = $4) and ($6::uuid is null or id >= $6)
    order by id desc limit $5)
   union all
   (select e.workspace_id, e.id, e.kind, e.user_id, e.actor_type, e.actor_id, null, null, e.count, e.details,
      e.created_at, e.last_at
    from workspace_members m cross join lateral (
      select * from security_events o
      where o.workspace_id = '${nowhere}' and o.user_id = m.user_id and o.created_at >= m.joined_at
        and o.kind in ('sign_in_failed', 'reset_requested', 'password_changed', 'password_reset')
        and ($2::text is null or o.kind = $2) and ($3::uuid is null or o.id < $3)
        and ($6::uuid is null or o.id >= $6)
      order by o.id desc limit $5) e
    where m.workspace_id = $1 and m.removed_at is null and ($4::uuid is null or m.user_id = $4)
    order by e.id desc limit $5)
   order by id desc limit $5`,
)
/** Newest first, one row more than the limit. */
export const listEventRows = (tx: ReadTx, { kind, from, before, limit }: Wanted, userId: string | null) =>
  tx.list<EventRow>(list, [tx.workspaceId, kind, before, userId, limit + 1, from], { most: limit + 1 })

const listOwn = sql(
  'security_events.list_own',
  `select ${columns} from security_events
   where user_id = $1 and ($2::text is null or kind = $2) and ($3::uuid is null or id < $3)
     and ($5::uuid is null or id >= $5)
   order by id desc limit $4`,
)
/** Newest first, one row more than the limit. */
export const listOwnEventRows = (tx: PersonTx, { kind, from, before, limit }: Wanted) =>
  tx.list<EventRow>(listOwn, [tx.userId, kind, before, limit + 1, from], { most: limit + 1 })

const findDevice = sql(
  'security_events.find_device',
  `select workspace_id from security_events
   where user_id = $1 and device = $2 and created_at > service_now() - interval '90 days' limit 1`,
)
/** Whether the person has signed in from this device in the last 90 days. */
export async function hasDevice(tx: PersonTx, device: Buffer): Promise<boolean> {
  return (await tx.query(findDevice, [tx.userId, device])).length > 0
}

/** The owners, or the billing address if there are none, in the order in which throttles are locked. */
const queueToOwners = sql(
  'security_events.queue_to_owners',
  `select queue_alarm($2, $2, sha256(convert_to($1::uuid || ' ' || r.address, 'UTF8')), r.ids) from (
     with owners as materialized (
       select u.address_key as address, m.user_id
       from workspace_members m join users u on u.id = m.user_id
       where m.workspace_id = $1 and m.role = 'owner' and m.removed_at is null and ($4::uuid is null or m.user_id <> $4)
     )
     select address, jsonb_build_object('workspace_id', $1::uuid, 'event_id', $3::uuid, 'user_id', user_id) as ids from owners
     union all
     select lower(w.billing_email), jsonb_build_object('workspace_id', $1::uuid, 'event_id', $3::uuid)
     from workspaces w where w.id = $1 and billing_recipient(w.billing_email, w.billing_verified_hash) is not null and not exists (select from owners)
     order by address
     offset 0
   ) r`,
)
/** @param but the owner who gets no mail; null: none. */
export const queueLettersToOwners = (tx: Tx, letter: string, eventId: string, but: string | null) =>
  tx.send(queueToOwners, [tx.workspaceId, letter, eventId, but])

export interface OwnerLetterRow {
  created_at: Date
  ip: string | null
  user_agent: string | null
  actor_type: string | null
  /** Null when the recipient's address is unverified: a letter there holds no words of others. */
  workspace_name: string | null
  /** The name of the person or the prefix of the secret key that acted, if known. */
  actor_name: string | null
  /** The name of the new owner, or the prefix of the new key. */
  subject_name: string | null
  /** The recipient; null when that person is no longer an owner. */
  email: string | null
  /** How many events the letter is about; not all are read. */
  named: number
}
const letterColumns = `e.created_at, e.ip, e.user_agent, e.actor_type,
     case when $3::uuid is null or exists (
       select from workspace_members m join users u on u.id = m.user_id
       where m.workspace_id = $1 and m.user_id = $3 and u.email_verified_at is not null) then w.name end as workspace_name,
     case e.actor_type
       when 'user' then (select u.email from users u where u.id = e.actor_id::uuid)
       when 'secret_key' then (select k.display_prefix from secret_keys k where k.workspace_id = $1 and k.id = e.actor_id::uuid)
     end as actor_name,
     case e.kind
       when 'owner_added' then (select u.email from users u where u.id = (e.details->>'member_id')::uuid)
       else (select k.display_prefix from secret_keys k
             where k.workspace_id = $1 and k.id = (e.details->>'secret_key_id')::uuid)
     end as subject_name,
     case when $3::uuid is null then billing_recipient(w.billing_email, w.billing_verified_hash) else (
       select u.email from workspace_members m join users u on u.id = m.user_id
       where m.workspace_id = $1 and m.user_id = $3 and m.role = 'owner' and m.removed_at is null) end as email`
const readForLetter = sql(
  'security_events.read_for_letter',
  `select ${letterColumns}, 1 as named
   from security_events e join workspaces w on w.id = e.workspace_id
   where e.workspace_id = $1 and e.id = $2`,
)
/** Without an index by kind: it goes through the events of the workspace since then, once a letter. */
const readGathered = sql(
  'security_events.read_gathered',
  `select ${letterColumns}, (count(*) over ())::int as named
   from security_events f join security_events e
     on e.workspace_id = f.workspace_id and e.kind = f.kind and e.created_at >= f.created_at
   join workspaces w on w.id = e.workspace_id
   where f.workspace_id = $1 and f.id = $2 order by e.created_at, e.id limit $4`,
)
export async function readOwnerLetter(
  tx: Tx,
  eventId: string,
  userId: string | null,
): Promise<OwnerLetterRow | null> {
  const [row] = await tx.query<OwnerLetterRow>(readForLetter, [tx.workspaceId, eventId, userId])
  return row ?? null
}

/** The event and all of its kind that followed, oldest first. @param most how many are read. */
export const readOwnerLetters = (tx: Tx, eventId: string, userId: string | null, most: number) =>
  tx.query<OwnerLetterRow>(readGathered, [tx.workspaceId, eventId, userId, most])

/** How many days an event is kept. */
export const keptDays = 90
export const pruneEventRows = `delete from security_events where (workspace_id, id) in (
     select workspace_id, id from security_events where created_at < service_now() - interval '${keptDays} days'
     limit 1000 for update skip locked)`

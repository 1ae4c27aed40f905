import type { Env } from '@keyrail/contract/shared'
import type { Permission } from '@keyrail/contract/vendor/permissions'
import { type Connection, sql } from '../platform/db/connection.ts'
import { type Lane, type LaneObserver, openLane } from '../platform/db/lane.ts'
import { readStoredNetworks } from '../platform/network/cidr.ts'
import type { KeyLimits, Role } from './principal.ts'

/** A secret key's record, as far as the gate needs it. Times are judged by the store's own clock. */
export interface SecretKeyRecord extends KeyLimits {
  workspaceId: string
  id: string
  role: Role
  env: Env
  active: boolean
  /** Milliseconds until it expires by itself; null: never. */
  endsInMs: number | null
  /** Whether last_used_at is old enough to be written anew. */
  stale: boolean
  /** Set where it is kept for other requests: until when, on the monotonic clock in milliseconds. */
  reusableUntil?: number
}

/** A session's record. Membership is asked at each request, so that a person who was removed is out with the next. */
export interface SessionRecord {
  id: string
  userId: string
  membership: { workspaceId: string; role: Role } | null
  active: boolean
  stale: boolean
}

/** The credential first, by its digest alone; its record second, by workspace. Never a join of many rows. */
const findStatement = sql(
  'gate.find',
  `with found as materialized (
     select d.place, c.workspace_id, c.id
     from unnest($1::bytea[]) with ordinality d(digest, place)
     join credentials c on c.digest = d.digest and c.kind = 'secret_key'
   )
   select f.place, f.workspace_id, f.id, k.role, k.env, k.permissions, k.project_ids, k.allowed_cidrs,
     k.revoked_at is null and (k.expires_at is null or k.expires_at > service_now()) as active,
     ceil(extract(epoch from k.expires_at - service_now()) * 1000)::bigint as ends_in_ms,
     k.last_used_at is null or k.last_used_at < service_now() - interval '60 seconds' as stale
   from found f join secret_keys k on k.workspace_id = f.workspace_id and k.id = f.id`,
)

const touchStatement = sql(
  'gate.touch',
  `update secret_keys k set last_used_at = service_now()
   from (select distinct w, i from unnest($1::uuid[], $2::uuid[]) u(w, i)) used
   where k.workspace_id = used.w and k.id = used.i
     and (k.last_used_at is null or k.last_used_at < service_now() - interval '60 seconds')`,
)

const findSessionStatement = sql(
  'gate.find_session',
  `with found as materialized (
     select d.place, c.id from unnest($1::bytea[]) with ordinality d(digest, place)
     join credentials c on c.digest = d.digest and c.kind = 'session' and c.workspace_id is null
   )
   select f.place, s.id, s.user_id, m.workspace_id, m.role,
     s.ended_at is null and s.expires_at > service_now()
       and s.last_seen_at > service_now() - make_interval(secs => $2) as active,
     s.last_seen_at < service_now() - make_interval(secs => least(60, $2 / 10)) as stale
   from found f join sessions s on s.id = f.id
   left join workspace_members m
     on m.workspace_id = s.acts_in and m.user_id = s.user_id and m.removed_at is null`,
)

/** A session whose idle time has run out meanwhile stays as it is. */
const touchSessionStatement = sql(
  'gate.touch_session',
  `update sessions s set last_seen_at = service_now()
   from (select distinct i from unnest($1::uuid[]) u(i)) used
   where s.id = used.i and s.ended_at is null
     and s.last_seen_at between service_now() - make_interval(secs => $2)
       and service_now() - make_interval(secs => least(60, $2 / 10))`,
)

/** What an embed token names, as it is now. Of what is deleted is told that it is. */
const standingStatement = sql(
  'gate.standing',
  `select u.place, w.embed_origins, extract(epoch from service_now()) * 1000 as now,
     t.id as tenant_id, t.external_id, t.name as tenant_name, t.embed_epoch, t.deleted_at is null as has_tenant,
     p.id as project_id, p.name as project_name, p.deleted_at is null as has_project,
     k.id is not null and k.revoked_at is null and (k.expires_at is null or k.expires_at > service_now()) as has_minter
   from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[])
     with ordinality u(workspace_id, tenant_id, project_id, minted_by, external_id, place)
   join workspaces w on w.id = u.workspace_id
   left join tenants n on n.workspace_id = u.workspace_id and n.external_id = u.external_id and n.deleted_at is null
   left join tenants t on t.workspace_id = u.workspace_id and t.id = coalesce(u.tenant_id, n.id)
   left join projects p on p.workspace_id = u.workspace_id and p.id = u.project_id
   left join secret_keys k on k.workspace_id = u.workspace_id and k.id = u.minted_by`,
)

/** Finds the record of a secret key by its digest. */
export type FindCredential = Pick<Lane<Buffer, SecretKeyRecord | null>, 'run'>

/** Of whom and of what an embed token is. */
export interface EmbedPlace {
  workspaceId: string
  /** Null where it is named as its vendor calls it. */
  tenantId: string | null
  externalId?: string
  projectId: string
  /** The secret key that mints, or has minted. */
  mintedBy: string
}

export interface EmbedStanding {
  /** The store's clock, milliseconds since 1970. */
  now: number
  /** The workspace's registered origins. */
  origins: readonly string[]
  /** Null once it is deleted, as where it never was. */
  tenant: { id: string; externalId: string; name: string | null; epoch: number } | null
  project: { id: string; name: string } | null
  /** Whether the secret key is neither revoked nor expired. */
  hasMinter: boolean
}

/** What an embed token is bound to, asked at every request with one; null where there is no such workspace. */
export type FindStanding = Pick<Lane<EmbedPlace, EmbedStanding | null>, 'run'>

export interface Lookup {
  /** The record of a secret key, by its SHA-256; null when there is none. */
  find: Lane<Buffer, SecretKeyRecord | null>
  /** Notes that a secret key was used, at most once a minute each. Nobody waits for it. */
  touch: Lane<{ workspaceId: string; id: string }, void>
  /** The record of a session, by its SHA-256. */
  sessions: Lane<Buffer, SessionRecord | null>
  /** Notes that a session was used, by its id. Nobody waits for it. */
  touchSession: Lane<string, void>
  standing: Lane<EmbedPlace, EmbedStanding | null>
}

/** @param sessionIdleS after how many seconds without a request a session ends. */
export function openLookup(connection: Connection, sessionIdleS: number, observer: LaneObserver): Lookup {
  return {
    find: openLane(
      connection,
      {
        name: 'credential',
        statement: findStatement,
        repeatable: true,
        // A fleet polls with one key.
        nameOf: digest => digest.toString('latin1'),
        values: digests => [digests],
        answers: (rows, digests) => {
          const answers: (SecretKeyRecord | null)[] = digests.map(() => null)
          for (const row of rows) answers[Number(row.place) - 1] = toRecord(row)
          return answers
        },
      },
      observer,
    ),
    touch: openLane(
      connection,
      {
        name: 'last_used',
        statement: touchStatement,
        repeatable: false,
        values: used => [used.map(key => key.workspaceId), used.map(key => key.id)],
        answers: (_rows, used) => used.map(() => undefined),
      },
      observer,
    ),
    sessions: openLane(
      connection,
      {
        name: 'session',
        statement: findSessionStatement,
        repeatable: true,
        nameOf: digest => digest.toString('latin1'),
        values: digests => [digests, sessionIdleS],
        answers: (rows, digests) => {
          const answers: (SessionRecord | null)[] = digests.map(() => null)
          for (const row of rows) answers[Number(row.place) - 1] = toSession(row)
          return answers
        },
      },
      observer,
    ),
    touchSession: openLane(
      connection,
      {
        name: 'session_seen',
        statement: touchSessionStatement,
        repeatable: false,
        values: ids => [ids, sessionIdleS],
        answers: (_rows, ids) => ids.map(() => undefined),
      },
      observer,
    ),
    standing: openLane(
      connection,
      {
        name: 'embed_standing',
        statement: standingStatement,
        repeatable: true,
        nameOf: ({ workspaceId, tenantId, projectId, mintedBy, externalId }) =>
          `${workspaceId} ${projectId} ${mintedBy} ${tenantId ?? `= ${externalId}`}`,
        values: places => [
          places.map(one => one.workspaceId),
          places.map(one => one.tenantId),
          places.map(one => one.projectId),
          places.map(one => one.mintedBy),
          places.map(one => one.externalId ?? null),
        ],
        answers: (rows, places) => {
          const answers: (EmbedStanding | null)[] = places.map(() => null)
          for (const row of rows) answers[Number(row.place) - 1] = toStanding(row)
          return answers
        },
        bytesOf: ({ externalId = '' }) => 160 + externalId.length,
      },
      observer,
    ),
  }
}

const toStanding = (row: Record<string, unknown>): EmbedStanding => ({
  now: Number(row.now),
  origins: row.embed_origins as string[],
  tenant:
    row.tenant_id === null || row.has_tenant !== true
      ? null
      : {
          id: String(row.tenant_id),
          externalId: String(row.external_id),
          name: row.tenant_name as string | null,
          epoch: Number(row.embed_epoch),
        },
  project:
    row.project_id === null || row.has_project !== true
      ? null
      : { id: String(row.project_id), name: String(row.project_name) },
  hasMinter: row.has_minter === true,
})

const toSession = (row: Record<string, unknown>): SessionRecord => ({
  id: String(row.id),
  userId: String(row.user_id),
  membership: row.role === null ? null : { workspaceId: String(row.workspace_id), role: row.role as Role },
  active: row.active === true,
  stale: row.stale === true,
})

const toRecord = (row: Record<string, unknown>): SecretKeyRecord => ({
  workspaceId: String(row.workspace_id),
  id: String(row.id),
  role: row.role as Role,
  env: row.env as Env,
  permissions: row.permissions === null ? null : new Set(row.permissions as Permission[]),
  projectIds: row.project_ids as string[] | null,
  networks: row.allowed_cidrs === null ? null : readStoredNetworks(row.allowed_cidrs as string[]),
  active: row.active === true,
  endsInMs: row.ends_in_ms === null ? null : Number(row.ends_in_ms),
  stale: row.stale === true,
})

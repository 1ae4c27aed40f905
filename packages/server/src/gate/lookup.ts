import type { EmbedTheme, Env } from '@keyrail/contract/shared'
import type { Permission } from '@keyrail/contract/vendor/permissions'
import { isActiveSql } from '../lifecycle/active.ts'
import { sql } from '../platform/db/connection.ts'
import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { readStoredNetworks } from '../platform/network/cidr.ts'
import type { KeyLimits, Role } from './principal.ts'
import type { ReadHead } from './read-head.ts'

/** The parts of a secret key's record that the gate needs. The database clock decides about times. */
export interface SecretKeyRecord extends KeyLimits {
  workspaceId: string
  id: string
  role: Role
  env: Env
  active: boolean
  /** Milliseconds until it expires by itself; null: never. */
  endsInMs: number | null
  /** Whether last_used_at is old enough to be updated. */
  stale: boolean
  /** Set by the cache: until when other requests may reuse the record, on the monotonic clock in milliseconds. */
  reusableUntil?: number
  /** Set by the look-up of a poll. */
  readonly readHead?: ReadHead
}

/** A session's record. The membership is read with each request, so that a removed person loses access at once. */
export interface SessionRecord {
  id: string
  userId: string
  membership: { workspaceId: string; role: Role } | null
  /** Whether it acts in a workspace that the person has not decided to keep since the account disowned what it made. */
  isUnproven: boolean
  /** Whether the address of the person is verified. */
  isVerified: boolean
  active: boolean
  stale: boolean
}

/** What `toRecord` reads of a row `k` of secret keys. The statement has its `workspace_id` and `id` beside it. */
export const recordColumns = `k.role, k.env, k.permissions, k.project_ids, k.allowed_cidrs,
     ${isActiveSql('k')} as active,
     ceil(extract(epoch from k.expires_at - service_now()) * 1000)::bigint as ends_in_ms,
     k.last_used_at is null or k.last_used_at < service_now() - interval '60 seconds' as stale`

/** Finds the credential by its digest first, then its record by workspace. Never joins many rows. */
const findStatement = sql(
  'gate.find',
  `with found as materialized (
     select d.place, c.workspace_id, c.id
     from unnest($1::bytea[]) with ordinality d(digest, place)
     join credentials c on c.digest = d.digest and c.kind = 'secret_key'
   )
   select f.place, f.workspace_id, f.id, ${recordColumns}
   from found f join secret_keys k on k.workspace_id = f.workspace_id and k.id = f.id`,
)

/**
 * Skips keys that are locked, whose next use is noted. Waiting for them while it holds others would end in a circle with a
 * transaction that revokes many.
 */
const touchStatement = sql(
  'gate.touch',
  `update secret_keys k set last_used_at = service_now()
   from (select o.workspace_id, o.id from (select distinct w, i from unnest($1::uuid[], $2::uuid[]) u(w, i)) used
     join secret_keys o on o.workspace_id = used.w and o.id = used.i
       and (o.last_used_at is null or o.last_used_at < service_now() - interval '60 seconds')
     for no key update of o skip locked) stale
   where k.workspace_id = stale.workspace_id and k.id = stale.id`,
)

const findSessionStatement = sql(
  'gate.find_session',
  `with found as materialized (
     select d.place, c.id from unnest($1::bytea[]) with ordinality d(digest, place)
     join credentials c on c.digest = d.digest and c.kind = 'session' and c.workspace_id is null
   )
   select f.place, s.id, s.user_id, m.workspace_id, m.role, u.email_verified_at is not null as verified,
     m.proven_count < u.disowned_count as unproven,
     s.ended_at is null and s.expires_at > service_now()
       and s.last_seen_at > service_now() - make_interval(secs => $2) as active,
     s.last_seen_at < service_now() - make_interval(secs => least(60, $2 / 10)) as stale
   from found f join sessions s on s.id = f.id join users u on u.id = s.user_id
   left join workspace_members m
     on m.workspace_id = s.acts_in and m.user_id = s.user_id and m.removed_at is null`,
)

/** Leaves a session unchanged whose idle time has ended since the look-up, and skips locked ones, as for keys. */
const touchSessionStatement = sql(
  'gate.touch_session',
  `update sessions s set last_seen_at = service_now()
   from (select o.id from (select distinct i from unnest($1::uuid[]) u(i)) used
     join sessions o on o.id = used.i and o.ended_at is null
       and o.last_seen_at between service_now() - make_interval(secs => $2)
         and service_now() - make_interval(secs => least(60, $2 / 10))
     for no key update of o skip locked) stale
   where s.id = stale.id`,
)

/** Everything that an embed token refers to, as it is now. Deleted rows are returned and flagged. */
const standingStatement = sql(
  'gate.standing',
  `select u.place, w.name as vendor_name, w.embed_origins, w.embed_accent, w.embed_radius, w.embed_logo_text, extract(epoch from service_now()) * 1000 as now,
     t.id as tenant_id, t.external_id, t.name as tenant_name, t.embed_epoch, t.deleted_at is null as has_tenant,
     t.suspended_at is not null as is_suspended, t.allowed_cidrs,
     p.id as project_id, p.name as project_name, p.deleted_at is null as has_project,
     p.strict_scopes or p.known_scopes is not null as lists_scopes,
     k.id is not null and ${isActiveSql('k')} as has_minter
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

/** The ids in an embed token. */
interface EmbedPlace {
  workspaceId: string
  /** Null when the tenant is named by its external id. */
  tenantId: string | null
  externalId?: string
  projectId: string
  /** The secret key that mints the token, or has minted it. */
  mintedBy: string
}

export interface EmbedStanding {
  /** The database clock, milliseconds since 1970. */
  now: number
  /** What the workspace is called. */
  vendorName: string
  /** The workspace's registered origins. */
  origins: readonly string[]
  theme: EmbedTheme
  /** Null when it is deleted or never existed. */
  tenant: {
    id: string
    externalId: string
    name: string | null
    epoch: number
    isSuspended: boolean
    networks: readonly string[]
  } | null
  project: { id: string; name: string; listsScopes: boolean } | null
  /** Whether the secret key is neither revoked nor expired. */
  hasMinter: boolean
}

/** Everything that an embed token depends on, read with each request; null when the workspace does not exist. */
export type FindStanding = Pick<Lane<EmbedPlace, EmbedStanding | null>, 'run'>

export interface Lookup {
  /** The record of a secret key, by its SHA-256; null when there is none. */
  find: Lane<Buffer, SecretKeyRecord | null>
  /** Records that a secret key was used, at most once a minute. No request waits for it. */
  touch: Lane<{ workspaceId: string; id: string }, void>
  /** The record of a session, by its SHA-256. */
  sessions: Lane<Buffer, SessionRecord | null>
  /** Records that a session was used, by its id. No request waits for it. */
  touchSession: Lane<string, void>
  standing: Lane<EmbedPlace, EmbedStanding | null>
}

/** @param sessionIdleS seconds without a request after which a session ends. */
export function openLookup(lanes: Lanes, sessionIdleS: number): Lookup {
  return {
    find: lanes.open({
      name: 'credential',
      shares: 'reads',
      statement: findStatement,
      repeatable: true,
      // All nodes of a vendor may poll with one key.
      nameOf: digest => digest.toString('latin1'),
      values: digests => [digests],
      answers: (rows, digests) => {
        const answers: (SecretKeyRecord | null)[] = digests.map(() => null)
        for (const row of rows) answers[Number(row.place) - 1] = toRecord(row)
        return answers
      },
    }),
    touch: lanes.open({
      name: 'last_used',
      shares: 'writes',
      statement: touchStatement,
      repeatable: false,
      values: used => [used.map(key => key.workspaceId), used.map(key => key.id)],
      answers: (_rows, used) => used.map(() => undefined),
    }),
    sessions: lanes.open({
      name: 'session',
      shares: 'reads',
      statement: findSessionStatement,
      repeatable: true,
      nameOf: digest => digest.toString('latin1'),
      values: digests => [digests, sessionIdleS],
      answers: (rows, digests) => {
        const answers: (SessionRecord | null)[] = digests.map(() => null)
        for (const row of rows) answers[Number(row.place) - 1] = toSession(row)
        return answers
      },
    }),
    touchSession: lanes.open({
      name: 'session_seen',
      shares: 'writes',
      statement: touchSessionStatement,
      repeatable: false,
      values: ids => [ids, sessionIdleS],
      answers: (_rows, ids) => ids.map(() => undefined),
    }),
    standing: lanes.open({
      name: 'embed_standing',
      shares: 'reads',
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
    }),
  }
}

const toStanding = (row: Record<string, unknown>): EmbedStanding => ({
  now: Number(row.now),
  vendorName: String(row.vendor_name),
  origins: row.embed_origins as string[],
  theme: {
    accent: row.embed_accent as string | null,
    radius: row.embed_radius as number | null,
    logo_text: row.embed_logo_text as string | null,
  },
  tenant:
    row.tenant_id === null || row.has_tenant !== true
      ? null
      : {
          id: String(row.tenant_id),
          externalId: String(row.external_id),
          name: row.tenant_name as string | null,
          epoch: Number(row.embed_epoch),
          isSuspended: row.is_suspended === true,
          networks: row.allowed_cidrs as string[],
        },
  project:
    row.project_id === null || row.has_project !== true
      ? null
      : {
          id: String(row.project_id),
          name: String(row.project_name),
          listsScopes: row.lists_scopes === true,
        },
  hasMinter: row.has_minter === true,
})

const toSession = (row: Record<string, unknown>): SessionRecord => ({
  id: String(row.id),
  userId: String(row.user_id),
  membership:
    row.role === null || row.unproven === true
      ? null
      : { workspaceId: String(row.workspace_id), role: row.role as Role },
  isUnproven: row.unproven === true,
  isVerified: row.verified === true,
  active: row.active === true,
  stale: row.stale === true,
})

export const toRecord = (row: Record<string, unknown>): SecretKeyRecord => ({
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

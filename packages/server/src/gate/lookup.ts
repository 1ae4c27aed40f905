import type { Env } from '@keyrail/contract/shared'
import { type Connection, sql } from '../platform/db/connection.ts'
import { type Lane, type LaneObserver, openLane } from '../platform/db/lane.ts'
import type { Role } from './principal.ts'

/** A credential's record, as far as the gate needs it. Times are judged by the store's own clock. */
export interface CredentialRecord {
  kind: 'secret_key'
  workspaceId: string
  id: string
  role: Role
  env: Env
  active: boolean
  /** Milliseconds until it expires by itself; null: never. */
  endsInMs: number | null
  /** Whether last_used_at is old enough to be written anew. */
  stale: boolean
}

/** The credential first, by its digest alone; its record second, by workspace. Never a join of many rows. */
const findStatement = sql(
  'gate.find',
  `with found as materialized (
     select d.place, c.kind, c.workspace_id, c.id
     from unnest($1::bytea[]) with ordinality d(digest, place)
     join credentials c on c.digest = d.digest and c.kind = 'secret_key'
   )
   select f.place, f.kind, f.workspace_id, f.id, k.role, k.env,
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

/** Finds the record of a credential by its digest. */
export type FindCredential = Pick<Lane<Buffer, CredentialRecord | null>, 'run'>

export interface Lookup {
  /** The record of a credential, by its SHA-256; null when there is none. */
  find: Lane<Buffer, CredentialRecord | null>
  /** Notes that a secret key was used, at most once a minute each. Nobody waits for it. */
  touch: Lane<{ workspaceId: string; id: string }, void>
}

export function openLookup(connection: Connection, observer: LaneObserver): Lookup {
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
          const answers: (CredentialRecord | null)[] = digests.map(() => null)
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
  }
}

const toRecord = (row: Record<string, unknown>): CredentialRecord => ({
  kind: 'secret_key',
  workspaceId: String(row.workspace_id),
  id: String(row.id),
  role: row.role as Role,
  env: row.env as Env,
  active: row.active === true,
  endsInMs: row.ends_in_ms === null ? null : Number(row.ends_in_ms),
  stale: row.stale === true,
})

import type { Env, RateLimit } from '@keyrail/contract/shared'
import type { EndCause } from '@keyrail/contract/verdicts'
import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Row } from '../platform/db/lanes/spec.ts'
import { findKeys } from './sql.ts'

/** What is looked up. */
interface Presented {
  readonly workspaceId: string
  /** In lower case. */
  readonly projectId: string
  /** The SHA-256 of the key; null: the text cannot be a key. */
  readonly digest: Buffer | null
  /** Whether form and checksum are those of keys that are made here. */
  readonly isOwnForm: boolean
  /** A test credential sees test keys only. */
  readonly reach: 'test' | 'both'
}

/** A key as it is now, by the clock of the store. */
export interface FoundKey {
  readonly id: string
  readonly tenantId: string
  readonly externalId: string
  readonly env: Env
  readonly name: string | null
  readonly scopes: readonly string[]
  /** The ranges from which it may be used: its own, or those of its tenant. Empty: any. */
  readonly networks: readonly string[]
  /** Null if it is larger than the feed sends. */
  readonly meta: Record<string, unknown> | null
  /** Milliseconds since 1970. */
  readonly expiresAt: number | null
  /** Its own limits, or those of the project. */
  readonly limits: readonly RateLimit[]
  /** Whether its project refuses it for its age. */
  readonly isTooOld: boolean
  /** Why it has ended; null: it is active. */
  readonly cause: EndCause | null
}

interface Found {
  readonly hasProject: boolean
  /** Whether a key of the project may have any form, because it was imported. */
  readonly acceptsAny: boolean
  /** Null: the project has no such key, as far as the credential sees. */
  readonly key: FoundKey | null
  /** The hour of the look-up, counted from 1970, by the clock of the store. */
  readonly hour: number
}

/** Finds a key by itself. Nothing is kept: a revocation holds from its commit on. */
export type FindKeyByText = Pick<Lane<Presented, Found>, 'run'>

export function openFindKey(lanes: Lanes): FindKeyByText {
  return lanes.open<Presented, Found>({
    name: 'verify',
    shares: 'reads',
    statement: findKeys,
    repeatable: true,
    nameOf: ({ workspaceId, projectId, digest, reach }) =>
      `${workspaceId}${projectId}${reach}${digest?.toString('latin1') ?? ''}`,
    values: asked => [
      asked.map(({ workspaceId }) => workspaceId),
      asked.map(({ projectId }) => projectId),
      asked.map(({ digest }) => digest),
      asked.map(({ reach }) => reach === 'test'),
      asked.map(({ isOwnForm }) => isOwnForm),
    ],
    answers(rows, asked) {
      const found: Found[] = asked.map(() => ({ hasProject: false, acceptsAny: false, key: null, hour: 0 }))
      for (const row of rows) found[Number(row.place) - 1] = toFound(row)
      return found
    },
    bytesOf: () => 160,
  })
}

const toFound = (row: Row): Found => ({
  hasProject: row.has_project === true,
  acceptsAny: row.accepts_any === true,
  hour: Number(row.hour),
  key: row.id === null ? null : toFoundKey(row),
})

const toFoundKey = (row: Row): FoundKey => ({
  id: String(row.id),
  tenantId: String(row.tenant_id),
  externalId: String(row.external_id),
  env: row.env as Env,
  name: row.name as string | null,
  scopes: row.scopes as string[],
  networks: row.networks as string[],
  meta: row.meta as Record<string, unknown> | null,
  expiresAt: row.expires_at === null ? null : Math.round(Number(row.expires_at)),
  limits: row.limits as RateLimit[],
  isTooOld: row.is_too_old === true,
  cause: row.cause as EndCause | null,
})

import type pg from 'pg'
import { digestFromBase64 } from '../../packages/sdk/src/runtime/digest.ts'
import { shownEnd } from '../../packages/sdk/src/store/end.ts'
import { toWireRateLimits, type WireRateLimit } from '../../packages/sdk/src/store/rate-limits.ts'
import type { Store } from '../../packages/sdk/src/store/store.ts'
import type { RefusalCode } from '../../packages/sdk/src/verify/verdict.ts'

/** A key as its row has it; everything derived from it is computed here and not by the store. */
interface KeyRow {
  id: string
  tenant_id: string
  env: 'live' | 'test'
  digest: string
  scopes: string[]
  rate_limits: WireRateLimit[] | null
  /** Milliseconds since 1970. */
  expires_at: number | null
  created_at: number
  revoked: boolean
  disabled: boolean
  tenant_deleted: boolean
  tenant_suspended: boolean
  /** Null: those of the tenant. Empty: every address. */
  networks: string[] | null
  tenant_networks: string[]
}

/** A project at one moment: all its keys, usable or not. */
export interface Truth {
  version: number
  deleted: boolean
  default_rate_limits: WireRateLimit[]
  /** How long its nodes accept a key, in milliseconds; null: at any age. */
  refused_after: number | null
  keys: KeyRow[]
}

/** One statement, so one moment. It shares nothing with the feed's statements. */
const readProject = `
  select h.version, p.deleted_at is not null as deleted, p.default_rate_limits,
    case when p.lifetime = 'refuse' then p.max_key_lifetime_days * 86400000 end as refused_after,
    (select coalesce(json_agg(json_build_object(
       'id', k.id, 'tenant_id', k.tenant_id, 'env', k.env, 'digest', encode(k.lookup_hash, 'base64'),
       'scopes', to_json(k.scopes), 'rate_limits', k.rate_limits,
       'expires_at', floor(extract(epoch from k.expires_at) * 1000),
       'created_at', floor(extract(epoch from k.created_at) * 1000),
       'revoked', k.revoked_at is not null, 'disabled', k.disabled_at is not null,
       'tenant_deleted', t.deleted_at is not null, 'tenant_suspended', t.suspended_at is not null,
       'networks', to_json(k.allowed_cidrs), 'tenant_networks', to_json(t.allowed_cidrs))), '[]')
     from api_keys k join tenants t on t.id = k.tenant_id where k.project_id = p.id) as keys
  from projects p join policy_heads h on h.project_id = p.id where p.id = $1`

export async function readTruth(client: pg.Client, projectId: string): Promise<Truth> {
  const { rows } = await client.query(readProject, [projectId])
  return rows[0]
}

export interface Sight {
  env: 'live' | 'test' | 'both'
  /** Empty: the whole project. */
  tenantIds: readonly string[]
  /** Features of the feed that the node does not know, as one of an earlier release. */
  lacks?: readonly string[]
}

const never = Number.POSITIVE_INFINITY

/** When a key ends, and the verdict on it then. */
function endOf(
  { refused_after }: Truth,
  { created_at, expires_at }: KeyRow,
): { at: number; isByAge: boolean } {
  const tooOldAt = refused_after === null ? never : created_at + refused_after
  const expiresAt = expires_at ?? never
  return { at: Math.min(expiresAt, tooOldAt), isByAge: tooOldAt < expiresAt }
}

/** The verdict on a held key after its end. A node that knows no ages takes each end for an expiry. */
export function codeAtEnd(truth: Truth, id: string, { lacks }: Sight): RefusalCode {
  const key = truth.keys.find(key => key.id === id)
  const isByAge = key !== undefined && endOf(truth, key).isByAge && !lacks?.includes('lifetime')
  return isByAge ? 'too_old' : 'expired_key'
}

const isSeen = (key: KeyRow, { env, tenantIds }: Sight) =>
  (env === 'both' || env === key.env) && (tenantIds.length === 0 || tenantIds.includes(key.tenant_id))

const isGone = (truth: Truth, key: KeyRow) => truth.deleted || key.tenant_deleted || key.revoked

/** Revoked or under something deleted: it never comes back. */
export const goneKeys = (truth: Truth): string[] =>
  truth.keys.filter(key => isGone(truth, key)).map(key => key.id)

/** The only network that has the address from which the drill's requests come. */
export const drillNetwork = '203.0.113.0/24'
export const drillAddress = '203.0.113.7'

/** From where a key may be used; empty: from everywhere. */
const networksOf = ({ networks, tenant_networks }: KeyRow): readonly string[] => networks ?? tenant_networks

/** Not paused, and the node can tell when its tenant is suspended and from where it works. Expired keys count. */
const isSent = (truth: Truth, key: KeyRow, sight: Sight) =>
  isSeen(key, sight) &&
  !isGone(truth, key) &&
  !key.disabled &&
  !(key.tenant_suspended && sight.lacks?.includes('suspended')) &&
  !(networksOf(key).length > 0 && sight.lacks?.includes('cidr'))

/** How many keys a snapshot may have, including expired keys that were not changed since. */
export const countLasting = (truth: Truth, sight: Sight): number =>
  truth.keys.filter(key => isSent(truth, key, sight)).length

/** How a node judges the keys that it holds, other than `valid`: by their tenant and by the address of the request. */
export function refusedKeys(truth: Truth, address: string | undefined): ReadonlyMap<string, RefusalCode> {
  const refused = new Map<string, RefusalCode>()
  for (const key of truth.keys) {
    const networks = networksOf(key)
    if (key.tenant_suspended) refused.set(key.id, 'suspended_tenant')
    else if (networks.length === 0) continue
    else if (address === undefined) refused.set(key.id, 'ip_unknown')
    else if (!networks.includes(drillNetwork)) refused.set(key.id, 'ip_not_allowed')
  }
  return refused
}

/** The keys that a node holds now, by id, each in one line of text. They may be used, but for those of suspended tenants. */
export function sentKeys(truth: Truth, sight: Sight, now: number): Map<string, string> {
  const sent = truth.keys.filter(key => isSent(truth, key, sight) && endOf(truth, key).at > now)
  return new Map(
    sent.map(key => [
      key.id,
      lineOf({
        ...key,
        limits: key.rate_limits ?? truth.default_rate_limits,
        tenantId: key.tenant_id,
        endsAt: endOf(truth, key).at,
      }),
    ]),
  )
}

/**
 * The unexpired keys of a node's store, in the same form. A record that is not found by the digest of its key is
 * marked.
 */
export function heldKeys({ records, find }: StoreView, truth: Truth, now: number): Map<string, string> {
  const digests = new Map(truth.keys.map(key => [key.id, digestFromBase64(key.digest) ?? '']))
  const held = new Map<string, string>()
  for (const slot of records.slots()) {
    const end = records.end(slot)
    if (end <= now) continue
    const id = records.keyId(slot)
    const line = lineOf({
      tenantId: records.tenantId(slot),
      env: records.env(slot),
      scopes: records.scopes(slot),
      limits: toWireRateLimits(records.rateLimits(slot) ?? []),
      endsAt: shownEnd(end) ?? never,
    })
    const isFound = find(digests.get(id) ?? '') === slot
    held.set(id, isFound && !held.has(id) ? line : `${line}, not found by its digest`)
  }
  return held
}

/** The store in comparable form. */
export type StoreView = Pick<Store, 'records'> & { find(digest: string): number }

interface Line {
  tenantId: string
  env: string
  scopes: readonly string[]
  limits: readonly WireRateLimit[]
  endsAt: number
}

const lineOf = ({ tenantId, env, scopes, limits, endsAt }: Line): string =>
  JSON.stringify([
    tenantId,
    env,
    scopes,
    limits.map(({ id, limit, window_ms, algorithm, scope }) => [id, limit, window_ms, algorithm, scope]),
    endsAt === never ? null : endsAt,
  ])

/** The differences of two sets of keys, a line a key. */
export function differences(truth: Map<string, string>, held: Map<string, string>): string[] {
  const lines: string[] = []
  for (const [id, line] of truth) {
    const own = held.get(id)
    if (own === undefined) lines.push(`lacks key ${id} ${line}`)
    else if (own !== line) lines.push(`holds key ${id} as ${own} instead of ${line}`)
  }
  for (const [id, line] of held) if (!truth.has(id)) lines.push(`still holds key ${id} ${line}`)
  return lines
}

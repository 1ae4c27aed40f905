import {
  activeKeysMax,
  attentionMax,
  type FullNodeExample,
  type KeyExample,
  type NodeExample,
  type Overview,
  type OverviewQuery,
} from '@keyrail/contract/vendor/overview'
import type { VendorPrincipal } from '../gate/principal.ts'
import type { Db } from '../platform/db/db.ts'
import { iso, isoOrNull } from '../platform/time.ts'
import { countBillableTenants, readDailyUsage } from '../usage/figures.ts'
import {
  type FullNodeRow,
  isUnverified,
  type KeyExampleRow,
  type NodeExampleRow,
  readFleet,
  readKeys,
  readTooOld,
} from './sql.ts'

/** The days of requests that the overview shows. */
const days = 30

/** All figures in one transaction of one flight. */
export async function getOverview(
  db: Db,
  principal: VendorPrincipal,
  { env = 'live' }: OverviewQuery,
): Promise<Overview> {
  const personId = principal.kind === 'session' ? principal.id : null
  const [requests, billableTenants, unverified, keys, tooOld, fleet] = await db.readAtOnce(
    principal.workspaceId,
    tx =>
      Promise.all([
        readDailyUsage(tx, { envs: [env], projectId: null, tenantId: null, days }),
        countBillableTenants(tx),
        personId === null ? false : isUnverified(tx, personId),
        readKeys(tx, env),
        readTooOld(tx, env),
        readFleet(tx, env),
      ]),
  )
  const { counts, expiring, unused, endless } = keys
  const { live, current, is_cut, behind, full_count, full_nodes } = fleet
  return {
    object: 'overview',
    env,
    active_keys: capped(counts.endless + counts.ending, activeKeysMax),
    requests,
    nodes: { live, current, capped: is_cut },
    billable_tenants: billableTenants,
    needs_attention: {
      expiring_keys: { ...capped(counts.expiring), examples: expiring.map(toKeyExample) },
      unused_keys: {
        ...capped(counts.unused, attentionMax, counts.is_cut),
        examples: unused.map(toKeyExample),
      },
      endless_keys: {
        ...capped(counts.working_endless, attentionMax, counts.endless > activeKeysMax),
        examples: endless.map(toKeyExample),
      },
      too_old_keys: tooOld.map(({ project_id, count, is_cut }) => ({
        project_id,
        ...capped(count, attentionMax, is_cut),
      })),
      nodes_behind: {
        ...capped(live - current, attentionMax, is_cut),
        examples: behind.map(toNodeExample),
      },
      nodes_full: { ...capped(full_count, attentionMax, is_cut), examples: full_nodes.map(toFullNode) },
      unverified_address: unverified,
    },
  }
}

/** @param isCut whether more may count than were read. */
const capped = (found: number, most = attentionMax, isCut = false) => ({
  count: Math.min(found, most),
  capped: found > most || isCut,
})

const toKeyExample = (row: KeyExampleRow): KeyExample => ({
  id: row.id,
  name: row.name,
  display_prefix: row.display_prefix,
  project_id: row.project_id,
  tenant_id: row.tenant_id,
  expires_at: isoOrNull(row.expires_at),
  last_used_at: isoOrNull(row.last_used_at),
  created_at: iso(row.created_at),
})

const toNodeExample = ({
  project_id,
  node,
  sees,
  version,
  behind,
  seen_at,
}: NodeExampleRow): NodeExample => ({
  project_id,
  node,
  env: sees,
  version,
  behind,
  seen_at: iso(new Date(seen_at)),
})

const toFullNode = ({
  sees,
  seen_at,
  project_id,
  node,
  held_keys,
  held_keys_max,
}: FullNodeRow): FullNodeExample => ({
  project_id,
  node,
  env: sees,
  held_keys,
  held_keys_max,
  seen_at: iso(new Date(seen_at)),
})

import type { EmbedTenant, EmbedTenantUpdate } from '@keyrail/contract/embed'
import { actorOf } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import type { EmbedPrincipal } from '../gate/principal.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { changeTenant } from '../tenants/update.ts'
import type { EmbedNeeds } from './needs.ts'

/**
 * Replaces the networks of the tenant. Each change goes to the nodes of all its projects, so it takes a turn of
 * few. A tenant belongs to no environment, and a token of test changes nothing for live keys.
 */
export async function updateEmbedTenant(
  { deps, db, principal }: Caller<EmbedNeeds, EmbedPrincipal>,
  { allowed_cidrs }: EmbedTenantUpdate,
): Promise<EmbedTenant> {
  const { workspaceId, embed } = principal
  if (embed.env !== 'live') {
    throw new Refusal(
      'live_credential_required',
      'The networks of the tenant hold for its live keys too. Change them with a token of live.',
    )
  }
  deps.keyTurns.networks.take(`${workspaceId} ${embed.tenant.id}`)
  const row = await db.inWorkspace(workspaceId, tx =>
    changeTenant(deps, tx, actorOf(principal), embed.tenant.id, { allowed_cidrs }),
  )
  return {
    object: 'tenant',
    id: row.id,
    external_id: row.external_id,
    name: row.name,
    allowed_cidrs: row.allowed_cidrs,
    updated_at: iso(row.updated_at),
    created_at: iso(row.created_at),
  }
}

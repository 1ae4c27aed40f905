import type { KeyPauser } from '@keyrail/contract/vendor/keys'
import { type Actor, actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { lockPolicyHeads, notePolicyChange } from '../policy/changes.ts'
import { settle } from './actions.ts'
import { setPause } from './end-sql.ts'
import type { KeyNeeds, RevokeNeeds } from './needs.ts'
import { toTarget } from './resource.ts'
import type { JudgedKeyRow, KeyRow } from './rows.ts'
import { lockKey } from './sql.ts'

/** A pause changes these columns alone. Resuming clears them, so the key is exactly what it was. */

/** Pauses a key, whoever has paused it before: then only the vendor resumes it. */
export const disableKey = (
  { deps, db, principal }: Caller<KeyNeeds>,
  id: string,
  reason: string | null,
  wait: AbortSignal | null,
) =>
  settle({ deps, db, principal }, id, wait, (tx, found) =>
    pauseFound(deps, tx, { actor: actorOf(principal), by: 'vendor' }, found, reason),
  )

/** Resumes a key, whoever has paused it. */
export const enableKey = ({ deps, db, principal }: Caller<KeyNeeds>, id: string, wait: AbortSignal | null) =>
  settle({ deps, db, principal }, id, wait, (tx, found) =>
    resumeFound(deps, tx, { actor: actorOf(principal), by: 'vendor' }, found),
  )

/** Who pauses or resumes. */
export interface Pauser {
  readonly actor: Actor
  readonly by: KeyPauser
}

/**
 * @returns the key as it is now. Repeating the pause changes nothing; the vendor's takes the place of a tenant's, with a time of its own:
 * an operation that resumes what was paused before it leaves the key paused.
 */
export async function pauseFound(
  deps: RevokeNeeds,
  tx: Tx,
  { actor, by }: Pauser,
  found: JudgedKeyRow,
  reason: string | null,
): Promise<KeyRow> {
  const row = await lockToPause(tx, found)
  if (row.disabled_at !== null && (row.disabled_by === by || by === 'tenant')) return row
  const at = new Date(deps.clock.now())
  const paused = await setPause(tx, row.id, { at, reason, by }, at)
  notePolicyChange(tx, row.project_id, [row.id])
  appendAudit(deps, tx, actor, at.getTime(), [
    { ...toTarget(row), action: 'api_key.disabled', payload: { reason, disabled_by: by } },
  ])
  return paused
}

/**
 * @returns the key as it is now. A key that is not paused stays as it is.
 * @throws {Refusal} `key_not_active` when a tenant resumes what the vendor paused.
 */
export async function resumeFound(
  deps: RevokeNeeds,
  tx: Tx,
  { actor, by }: Pauser,
  found: JudgedKeyRow,
): Promise<KeyRow> {
  const row = await lockToPause(tx, found)
  if (row.disabled_at === null) return row
  if (by === 'tenant' && row.disabled_by === 'vendor')
    throw new Refusal('key_not_active', 'Only who issued the key can resume it.')
  const at = new Date(deps.clock.now())
  const resumed = await setPause(tx, row.id, { at: null, reason: null, by: null }, at)
  notePolicyChange(tx, row.project_id, [row.id])
  appendAudit(deps, tx, actor, at.getTime(), [
    { ...toTarget(row), action: 'api_key.enabled', payload: { disabled_by: row.disabled_by } },
  ])
  return resumed
}

/** @throws {Refusal} `key_not_active` for a key that has ended: a pause would say that it can come back. */
async function lockToPause(tx: Tx, found: JudgedKeyRow): Promise<JudgedKeyRow> {
  const [living, row] = await Promise.all([lockPolicyHeads(tx, [found.project_id]), lockKey(tx, found.id)])
  if (row === null) throw new Refusal('not_found')
  if (!row.is_active || living.length === 0)
    throw new Refusal('key_not_active', 'A revoked or expired key is neither paused nor resumed.')
  return row
}

import type { SecretKey, SecretKeyUpdate } from '@keyrail/contract/vendor/secret-keys'
import { actorOf, appendAudit } from '../audit/append.ts'
import { changesOf } from '../audit/changes.ts'
import type { Caller } from '../gate/caller.ts'
import { sightOf } from '../gate/principal.ts'
import { Refusal } from '../platform/refusal.ts'
import type { SecretKeyNeeds } from './needs.ts'
import { toSecretKey } from './resource.ts'
import { labelSecretKeyRow, lockSecretKey } from './sql.ts'

/** Replaces the fields that the body names. A value that the key already has is not written. */
export function updateSecretKey(
  { deps, db, principal }: Caller<SecretKeyNeeds>,
  id: string,
  { name, meta }: SecretKeyUpdate,
): Promise<SecretKey> {
  return db.inWorkspace(principal.workspaceId, async tx => {
    const row = await lockSecretKey(tx, id, sightOf(principal))
    if (row === null) throw new Refusal('not_found')
    if (row.revoked_at !== null)
      throw new Refusal('key_not_active', 'A revoked secret key cannot be updated.')
    const next = { ...row, ...(name !== undefined && { name }), ...(meta !== undefined && { meta }) }
    const payload = changesOf(toSecretKey(row), toSecretKey(next))
    if (Object.keys(payload).length === 0) return toSecretKey(row)
    labelSecretKeyRow(tx, next)
    appendAudit(deps, tx, actorOf(principal), deps.clock.now(), [
      { action: 'secret_key.updated', targetType: 'secret_key', targetId: id, env: row.env, payload },
    ])
    return toSecretKey(next)
  })
}

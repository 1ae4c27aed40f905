import type { Key } from '@keyrail/contract/vendor/keys'
import type { Caller } from '../gate/caller.ts'
import { sightOf } from '../gate/principal.ts'
import { tokenDigest } from '../platform/crypto/token.ts'
import { Refusal } from '../platform/refusal.ts'
import { toKey } from './resource.ts'
import { findKeyByDigest } from './sql.ts'
import type { KeyTurns } from './turns.ts'

/**
 * Finds a key by the key itself, whatever its status. Every text is looked up in the same way, so that malformed, foreign and
 * unknown keys get the same answer.
 */
export async function identifyKey(
  { deps: { keyTurns }, db, principal }: Caller<{ readonly keyTurns: KeyTurns }>,
  key: string,
): Promise<Key> {
  const { kind, id, sessionId } = principal
  keyTurns.identify.take(`${kind} ${sessionId ?? id}`)
  const digest = tokenDigest(key)
  const row = await db.inWorkspace(principal.workspaceId, tx =>
    findKeyByDigest(tx, digest, sightOf(principal)),
  )
  if (row === null) throw new Refusal('not_found')
  return toKey(row)
}

import type { Env } from '@keyrail/contract/shared'
import type { CreatedSecretKey, SecretKeyRole } from '@keyrail/contract/vendor/secret-keys'
import type { Actor, Entry } from '../audit/append.ts'
import { displayPrefix, drawToken, secretKeyPrefix, tokenDigest } from '../platform/crypto/token.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { SecretKeyNeeds } from './needs.ts'
import { toNewSecretKey } from './resource.ts'
import { type CreatorType, insertSecretKey, type NewSecretKey, type SecretKeyRow } from './sql.ts'

/** The limits of a secret key as stored. */
export type StoredLimits = Pick<SecretKeyRow, 'permissions' | 'project_ids' | 'allowed_cidrs'>

/** For the first key of a workspace: no key could remove a limit of it later. */
export const noLimits: StoredLimits = { permissions: null, project_ids: null, allowed_cidrs: null }

export interface SecretKeySettings extends StoredLimits {
  env: Env
  role: SecretKeyRole
  name: string | null
  meta: Record<string, unknown>
  expires_at: Date | null
  rotated_from: string | null
  /** The session of the creator, if that is a person. */
  created_in_session: string | null
}

/** Generates a secret key and writes its row. The caller appends the audit entry. */
export function issueSecretKey(
  deps: Pick<SecretKeyNeeds, 'makeId' | 'randomBytes'>,
  tx: Tx,
  actor: Actor,
  at: number,
  settings: SecretKeySettings,
): { created: CreatedSecretKey; shown: CreatedSecretKey } {
  const key = drawToken(`${secretKeyPrefix}${settings.env}`, deps.randomBytes)
  const row: NewSecretKey = {
    ...settings,
    id: deps.makeId(),
    created_by_type: actor.type as CreatorType,
    created_by_id: actor.id,
    digest: tokenDigest(key),
    display_prefix: displayPrefix(key),
    created_at: new Date(at),
  }
  insertSecretKey(tx, row)
  const created = toNewSecretKey(row)
  return { created, shown: { ...created, key } }
}

export const secretKeyCreated = (created: CreatedSecretKey): Entry => ({
  action: 'secret_key.created',
  targetType: 'secret_key',
  targetId: created.id,
  env: created.env,
  payload: { ...created },
})

export const withoutSecret = <T extends CreatedSecretKey>({ key: _, ...rest }: T) => rest

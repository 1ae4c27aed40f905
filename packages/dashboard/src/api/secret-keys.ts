import type { RotateBody } from '@keyrail/contract/shared'
import type {
  CreatedSecretKey,
  ReadSecretKey,
  RevokedSecretKey,
  RotatedSecretKey,
  SecretKey,
  SecretKeyCreate,
  SecretKeyList,
  SecretKeyRevoke,
  SecretKeys,
  SecretKeyUpdate,
} from '@keyrail/contract/vendor/secret-keys'
import { endpoint } from './endpoint.ts'

export const listSecretKeys = endpoint<{ query: SecretKeyList; answer: SecretKeys }>('GET', '/v1/secret_keys')
export const createSecretKey = endpoint<{ body: SecretKeyCreate; answer: CreatedSecretKey }>(
  'POST',
  '/v1/secret_keys',
)
export const getSecretKey = endpoint<{ id: string; answer: ReadSecretKey }>('GET', '/v1/secret_keys/:id')
export const updateSecretKey = endpoint<{ id: string; body: SecretKeyUpdate; answer: SecretKey }>(
  'PATCH',
  '/v1/secret_keys/:id',
)
export const rotateSecretKey = endpoint<{ id: string; body: RotateBody; answer: RotatedSecretKey }>(
  'POST',
  '/v1/secret_keys/:id/rotate',
)
export const revokeSecretKey = endpoint<{ id: string; body: SecretKeyRevoke; answer: RevokedSecretKey }>(
  'POST',
  '/v1/secret_keys/:id/revoke',
)

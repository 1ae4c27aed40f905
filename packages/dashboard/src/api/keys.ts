import type { RevokeBody, RotateBody } from '@keyrail/contract/shared'
import type {
  CreatedKey,
  Key,
  KeyCreate,
  KeyIdentify,
  KeyList,
  Keys,
  KeyUpdate,
  RevokedKey,
  RevokeQuery,
  RotatedKey,
} from '@keyrail/contract/vendor/keys'
import type { KeyUsage, KeyUsageQuery } from '@keyrail/contract/vendor/usage'
import { endpoint } from './endpoint.ts'

export const listKeys = endpoint<{ query: KeyList; answer: Keys }>('GET', '/v1/keys')
export const createKey = endpoint<{ body: KeyCreate; answer: CreatedKey }>('POST', '/v1/keys')
export const identifyKey = endpoint<{ body: KeyIdentify; answer: Key }>('POST', '/v1/keys/identify')
export const getKey = endpoint<{ id: string; answer: Key }>('GET', '/v1/keys/:id')
export const updateKey = endpoint<{ id: string; body: KeyUpdate; answer: Key }>('PATCH', '/v1/keys/:id')
export const rotateKey = endpoint<{ id: string; body: RotateBody; answer: RotatedKey }>(
  'POST',
  '/v1/keys/:id/rotate',
)
export const revokeKey = endpoint<{ id: string; query: RevokeQuery; body: RevokeBody; answer: RevokedKey }>(
  'POST',
  '/v1/keys/:id/revoke',
)
export const getKeyUsage = endpoint<{ id: string; query: KeyUsageQuery; answer: KeyUsage }>(
  'GET',
  '/v1/keys/:id/usage',
)

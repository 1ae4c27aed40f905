import { RevokeBody, RotateBody } from '@keyrail/contract/shared'
import {
  CreatedSecretKey,
  RotatedSecretKey,
  SecretKey,
  SecretKeyCreate,
  SecretKeyList,
  SecretKeys,
} from '@keyrail/contract/vendor/secret-keys'
import { editors, readers } from '../gate/access.ts'
import { type Route, vendorRoute } from '../gate/route.ts'
import { createSecretKey, getSecretKey, listSecretKeys, revokeSecretKey, rotateSecretKey } from './actions.ts'

export const secretKeyRoutes: Route[] = [
  vendorRoute('POST', '/v1/secret_keys', {
    operation: 'createSecretKey',
    summary: 'Create a secret key for your own backend',
    access: editors,
    body: SecretKeyCreate,
    status: 201,
    answer: CreatedSecretKey,
    replayable: true,
    handle: (deps, { principal, body, replay }) => createSecretKey(deps, principal, body, replay),
  }),
  vendorRoute('GET', '/v1/secret_keys', {
    operation: 'listSecretKeys',
    summary: 'List secret keys, newest first',
    access: readers,
    query: SecretKeyList,
    answer: SecretKeys,
    handle: async (deps, { principal, query }) => ({ body: await listSecretKeys(deps, principal, query) }),
  }),
  vendorRoute('GET', '/v1/secret_keys/:id', {
    operation: 'getSecretKey',
    summary: 'Read a secret key',
    access: readers,
    answer: SecretKey,
    handle: async (deps, { principal, id }) => ({ body: await getSecretKey(deps, principal, id) }),
  }),
  vendorRoute('POST', '/v1/secret_keys/:id/rotate', {
    operation: 'rotateSecretKey',
    summary: 'Put a successor beside a secret key, which lives on for the overlap',
    access: editors,
    body: RotateBody,
    answer: RotatedSecretKey,
    refusals: ['key_not_active', 'owner_required'],
    replayable: true,
    handle: (deps, { principal, id, body, replay }) =>
      rotateSecretKey(deps, principal, id, body.overlap_hours ?? 24, replay),
  }),
  vendorRoute('POST', '/v1/secret_keys/:id/revoke', {
    operation: 'revokeSecretKey',
    summary: 'End a secret key for good; repeating it changes nothing',
    access: editors,
    body: RevokeBody,
    answer: SecretKey,
    handle: async (deps, { principal, id, body }) => ({
      body: await revokeSecretKey(deps, principal, id, body.reason ?? null),
    }),
  }),
]

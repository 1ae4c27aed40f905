import { RotateBody } from '@keyrail/contract/shared'
import {
  CreatedSecretKey,
  RevokedSecretKey,
  RotatedSecretKey,
  SecretKey,
  SecretKeyCreate,
  SecretKeyList,
  SecretKeyRevoke,
  SecretKeys,
} from '@keyrail/contract/vendor/secret-keys'
import { editors, readers, withinProjects } from '../gate/access.ts'
import { type Route, vendorRoute } from '../gate/route.ts'
import { createSecretKey, getSecretKey, listSecretKeys, revokeSecretKey, rotateSecretKey } from './actions.ts'

export const secretKeyRoutes: Route[] = [
  vendorRoute('POST', '/v1/secret_keys', {
    operation: 'createSecretKey',
    summary: 'Create a secret key for your own backend',
    access: withinProjects(editors('secret_keys:write')),
    body: SecretKeyCreate,
    status: 201,
    answer: CreatedSecretKey,
    refusals: ['not_found', 'key_limit_reached', 'whole_workspace_required'],
    replayable: true,
    handle: (deps, { principal, body, replay, client }) =>
      createSecretKey(deps, principal, body, replay, client),
  }),
  vendorRoute('GET', '/v1/secret_keys', {
    operation: 'listSecretKeys',
    summary: 'List secret keys, newest first',
    access: withinProjects(readers('secret_keys:read')),
    query: SecretKeyList,
    answer: SecretKeys,
    handle: async (deps, { principal, query }) => ({ body: await listSecretKeys(deps, principal, query) }),
  }),
  vendorRoute('GET', '/v1/secret_keys/:id', {
    operation: 'getSecretKey',
    summary: 'Read a secret key',
    access: withinProjects(readers('secret_keys:read')),
    answer: SecretKey,
    handle: async (deps, { principal, id }) => ({ body: await getSecretKey(deps, principal, id) }),
  }),
  vendorRoute('POST', '/v1/secret_keys/:id/rotate', {
    operation: 'rotateSecretKey',
    summary: 'Put a successor beside a secret key, which lives on for the overlap',
    access: withinProjects(editors('secret_keys:write')),
    body: RotateBody,
    answer: RotatedSecretKey,
    refusals: ['key_not_active', 'key_limit_reached', 'owner_required'],
    replayable: true,
    handle: (deps, { principal, id, body, replay, client }) =>
      rotateSecretKey(deps, principal, id, body.overlap_hours ?? 24, replay, client),
  }),
  vendorRoute('POST', '/v1/secret_keys/:id/revoke', {
    operation: 'revokeSecretKey',
    summary:
      'End a secret key for good, and with `cascade` all keys made by it; repeating it changes nothing',
    access: withinProjects(editors('secret_keys:write')),
    body: SecretKeyRevoke,
    answer: RevokedSecretKey,
    handle: async (deps, { principal, id, body }) => ({
      body: await revokeSecretKey(deps, principal, id, body),
    }),
  }),
]

import { RotateBody } from '../shared.ts'
import { EndedKeysDeleted, EndedSecretKeysQuery } from '../vendor/ended.ts'
import {
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
} from '../vendor/secret-keys.ts'
import { declareRoutes } from './declare.ts'

export const secretKeyRoutes = declareRoutes({
  'POST /v1/secret_keys': {
    plane: 'vendor',
    operation: 'createSecretKey',
    summary: 'Create a secret key',
    description: 'Issues a credential for your own backend. The key is shown once.',
    permission: 'secret_keys:write',
    body: SecretKeyCreate,
    status: 201,
    answer: CreatedSecretKey,
    refusals: ['not_found', 'key_limit_reached', 'whole_workspace_required'],
    replayable: true,
  },
  'GET /v1/secret_keys': {
    plane: 'vendor',
    operation: 'listSecretKeys',
    summary: 'List secret keys',
    description: 'Returns secret keys, newest first.',
    permission: 'secret_keys:read',
    query: SecretKeyList,
    answer: SecretKeys,
  },
  'DELETE /v1/secret_keys/ended': {
    plane: 'vendor',
    operation: 'deleteEndedSecretKeys',
    summary: 'Delete ended secret keys',
    description:
      'Deletes a batch of the revoked and expired secret keys, of an environment if the query names one. Repeat the call while `has_more` is true. The audit log keeps what happened to them.',
    permission: 'secret_keys:write',
    query: EndedSecretKeysQuery,
    answer: EndedKeysDeleted,
  },
  'GET /v1/secret_keys/:id': {
    plane: 'vendor',
    operation: 'getSecretKey',
    summary: 'Get a secret key',
    description: 'Returns the settings and the status of a secret key, without the key itself.',
    permission: 'secret_keys:read',
    answer: ReadSecretKey,
  },
  'PATCH /v1/secret_keys/:id': {
    plane: 'vendor',
    operation: 'updateSecretKey',
    summary: 'Update a secret key',
    description:
      'Replaces the name or the meta. Role, environment, expiry and limits of a secret key never change. A revoked one cannot be updated.',
    permission: 'secret_keys:write',
    body: SecretKeyUpdate,
    answer: SecretKey,
    refusals: ['key_not_active'],
  },
  'POST /v1/secret_keys/:id/rotate': {
    plane: 'vendor',
    operation: 'rotateSecretKey',
    summary: 'Rotate a secret key',
    description:
      'Issues a successor with the same settings. The old key keeps working until the overlap ends.',
    permission: 'secret_keys:write',
    body: RotateBody,
    answer: RotatedSecretKey,
    refusals: ['key_not_active', 'key_limit_reached', 'owner_required'],
    replayable: true,
  },
  'POST /v1/secret_keys/:id/revoke': {
    plane: 'vendor',
    operation: 'revokeSecretKey',
    summary: 'Revoke a secret key',
    description:
      'Revokes the key for good, then the pending invitations made by it, and with `cascade` the secret keys made by it. If that takes longer than a second it goes on after the answer, and `GET` shows how far it is. Repeating the call changes nothing.',
    permission: 'secret_keys:write',
    body: SecretKeyRevoke,
    answer: RevokedSecretKey,
  },
})

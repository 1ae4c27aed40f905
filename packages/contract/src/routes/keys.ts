import { DisableBody, RevokeBody, RotateBody } from '../shared.ts'
import { EndedKeysDeleted, EndedKeysQuery } from '../vendor/ended.ts'
import {
  CreatedKey,
  Key,
  KeyCreate,
  KeyIdentify,
  KeyList,
  Keys,
  KeyUpdate,
  PausedKey,
  RevokedKey,
  RevokeQuery,
  RotatedKey,
} from '../vendor/keys.ts'
import { declareRoutes } from './declare.ts'

export const keyRoutes = declareRoutes({
  'POST /v1/keys': {
    plane: 'vendor',
    operation: 'createKey',
    summary: 'Create a key',
    description:
      'Issues a key to a tenant. The key is shown once. If the project has `strict_scopes`, its scopes are among `known_scopes`.',
    permission: 'keys:write',
    body: KeyCreate,
    status: 201,
    answer: CreatedKey,
    refusals: ['not_found', 'key_limit_reached'],
    replayable: true,
  },
  'GET /v1/keys': {
    plane: 'vendor',
    operation: 'listKeys',
    summary: 'List keys',
    description: 'Returns keys, newest first.',
    permission: 'keys:read',
    query: KeyList,
    answer: Keys,
  },
  'POST /v1/keys/identify': {
    plane: 'vendor',
    operation: 'identifyKey',
    summary: 'Identify a key',
    description:
      'Returns the record of a key that you have as text, whatever its status. Changes nothing. A credential can identify 60 keys a minute: your servers verify keys in memory.',
    permission: 'keys:read',
    body: KeyIdentify,
    answer: Key,
    refusals: ['not_found'],
  },
  'DELETE /v1/keys/ended': {
    plane: 'vendor',
    operation: 'deleteEndedKeys',
    summary: 'Delete ended keys',
    description:
      'Deletes a batch of the revoked and expired keys, of a project, tenant or environment if the query names one. Repeat the call while `has_more` is true. The audit log keeps what happened to them.',
    permission: 'keys:write',
    query: EndedKeysQuery,
    answer: EndedKeysDeleted,
  },
  'GET /v1/keys/:id': {
    plane: 'vendor',
    operation: 'getKey',
    summary: 'Get a key',
    description: 'Returns the settings and the status of a key, without the key itself.',
    permission: 'keys:read',
    answer: Key,
  },
  'PATCH /v1/keys/:id': {
    plane: 'vendor',
    operation: 'updateKey',
    summary: 'Update a key',
    description: 'Replaces the fields that the body names. A revoked key cannot be changed.',
    permission: 'keys:write',
    body: KeyUpdate,
    answer: Key,
    refusals: ['key_not_active', 'key_limit_reached'],
  },
  'POST /v1/keys/:id/rotate': {
    plane: 'vendor',
    operation: 'rotateKey',
    summary: 'Rotate a key',
    description:
      'Issues a successor with the same settings. The old key keeps working until the overlap ends.',
    permission: 'keys:write',
    body: RotateBody,
    answer: RotatedKey,
    refusals: ['key_not_active', 'key_limit_reached'],
    replayable: true,
  },
  'POST /v1/keys/:id/revoke': {
    plane: 'vendor',
    operation: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'Revokes the key for good. With `wait=true` the response waits until your servers have the change. Repeating the call changes nothing.',
    permission: 'keys:write',
    query: RevokeQuery,
    body: RevokeBody,
    answer: RevokedKey,
  },
  'POST /v1/keys/:id/disable': {
    plane: 'vendor',
    operation: 'disableKey',
    summary: 'Pause a key',
    description:
      'Your servers refuse the key until it is resumed; all else of it stays. With `wait=true` the response waits until your servers have the change. Repeating the call changes nothing.',
    permission: 'keys:write',
    query: RevokeQuery,
    body: DisableBody,
    answer: PausedKey,
    refusals: ['key_not_active'],
  },
  'POST /v1/keys/:id/enable': {
    plane: 'vendor',
    operation: 'enableKey',
    summary: 'Resume a paused key',
    description:
      'The key is what it was before the pause. With `wait=true` the response waits until your servers have the change. A key that is not paused stays as it is.',
    permission: 'keys:write',
    query: RevokeQuery,
    answer: PausedKey,
    refusals: ['key_not_active'],
  },
})

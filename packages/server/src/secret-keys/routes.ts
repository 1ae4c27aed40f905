import { overlapHoursDefault, RotateBody } from '@keyrail/contract/shared'
import { EndedKeysDeleted, EndedSecretKeysQuery } from '@keyrail/contract/vendor/ended'
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
} from '@keyrail/contract/vendor/secret-keys'
import { editors, owners, readers, withinProjects } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { createSecretKey, getSecretKey, listSecretKeys, revokeSecretKey, rotateSecretKey } from './actions.ts'
import { deleteEnded } from './delete-ended.ts'
import type { SecretKeyNeeds } from './needs.ts'
import { updateSecretKey } from './update.ts'

const { vendorRoute } = routesFor<SecretKeyNeeds>()

export const secretKeyRoutes: Route<SecretKeyNeeds>[] = [
  vendorRoute('POST', '/v1/secret_keys', {
    operation: 'createSecretKey',
    summary: 'Create a secret key',
    description: 'Issues a credential for your own backend. The key is shown once.',
    access: withinProjects(editors('secret_keys:write')),
    body: SecretKeyCreate,
    status: 201,
    answer: CreatedSecretKey,
    refusals: ['not_found', 'key_limit_reached', 'whole_workspace_required'],
    replayable: true,
    handle: (deps, { db, principal, body, replay, client }) =>
      createSecretKey(deps, db, principal, body, replay, client),
  }),
  vendorRoute('GET', '/v1/secret_keys', {
    operation: 'listSecretKeys',
    summary: 'List secret keys',
    description: 'Returns secret keys, newest first.',
    access: withinProjects(readers('secret_keys:read')),
    query: SecretKeyList,
    answer: SecretKeys,
    handle: async (deps, { db, principal, query }) => ({
      body: await listSecretKeys(deps, db, principal, query),
    }),
  }),
  vendorRoute('DELETE', '/v1/secret_keys/ended', {
    operation: 'deleteEndedSecretKeys',
    summary: 'Delete ended secret keys',
    description:
      'Deletes a batch of the revoked and expired secret keys, of an environment if the query names one. Repeat the call while `has_more` is true. The audit log keeps what happened to them.',
    access: owners('secret_keys:write'),
    query: EndedSecretKeysQuery,
    answer: EndedKeysDeleted,
    handle: async (deps, { db, principal, query }) => ({
      body: await deleteEnded(deps, db, principal, query),
    }),
  }),
  vendorRoute('GET', '/v1/secret_keys/:id', {
    operation: 'getSecretKey',
    summary: 'Get a secret key',
    description: 'Returns the settings and the status of a secret key, without the key itself.',
    access: withinProjects(readers('secret_keys:read')),
    answer: ReadSecretKey,
    handle: async (_, { db, principal, id }) => ({ body: await getSecretKey(db, principal, id) }),
  }),
  vendorRoute('PATCH', '/v1/secret_keys/:id', {
    operation: 'updateSecretKey',
    summary: 'Update a secret key',
    description:
      'Replaces the name or the meta. Role, environment, expiry and limits of a secret key never change. A revoked one cannot be updated.',
    access: withinProjects(editors('secret_keys:write')),
    body: SecretKeyUpdate,
    answer: SecretKey,
    refusals: ['key_not_active'],
    handle: async (deps, { db, principal, id, body }) => ({
      body: await updateSecretKey(deps, db, principal, id, body),
    }),
  }),
  vendorRoute('POST', '/v1/secret_keys/:id/rotate', {
    operation: 'rotateSecretKey',
    summary: 'Rotate a secret key',
    description:
      'Issues a successor with the same settings. The old key keeps working until the overlap ends.',
    access: withinProjects(editors('secret_keys:write')),
    body: RotateBody,
    answer: RotatedSecretKey,
    refusals: ['key_not_active', 'key_limit_reached', 'owner_required'],
    replayable: true,
    target: 'secret_key',
    handle: (deps, { db, principal, id, body, replay, client }) =>
      rotateSecretKey(deps, db, principal, id, body.overlap_hours ?? overlapHoursDefault, replay, client),
  }),
  vendorRoute('POST', '/v1/secret_keys/:id/revoke', {
    operation: 'revokeSecretKey',
    summary: 'Revoke a secret key',
    description:
      'Revokes the key for good, then the pending invitations made by it, and with `cascade` the secret keys made by it. If that takes longer than a second it goes on after the answer, and `GET` shows how far it is. Repeating the call changes nothing.',
    access: withinProjects(editors('secret_keys:write')),
    body: SecretKeyRevoke,
    answer: RevokedSecretKey,
    endsRights: true,
    target: 'secret_key',
    handle: async (deps, { db, principal, id, body }) => ({
      body: await revokeSecretKey(deps, db, principal, id, body),
    }),
  }),
]

/**
 * Keys issued to tenants. `issue.ts` creates and rotates, `actions.ts` reads, updates and revokes, `search.ts` and
 * `identify.ts` find keys without their ids, `lifecycle.ts` has the rules as values, `rows.ts` the stored shapes,
 * `resource.ts` those of the API, `known-scopes.ts` what a project says about scopes, and `tenant-keys.ts` serves the
 * embed plane.
 */

import { overlapHoursDefault, RevokeBody, RotateBody } from '@keyrail/contract/shared'
import { EndedKeysDeleted, EndedKeysQuery } from '@keyrail/contract/vendor/ended'
import {
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
import { editors, owners, readers, withinProjects } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { getKey, listKeysPage, revokeKey, updateKeyFields } from './actions.ts'
import { deleteEnded } from './delete-ended.ts'
import { identifyKey } from './identify.ts'
import { createKey, rotateKey } from './issue.ts'
import type { KeyNeeds } from './needs.ts'

const { vendorRoute } = routesFor<KeyNeeds>()

export const keyRoutes: Route<KeyNeeds>[] = [
  vendorRoute('POST', '/v1/keys', {
    operation: 'createKey',
    summary: 'Create a key',
    description:
      'Issues a key to a tenant. The key is shown once. If the project has `strict_scopes`, its scopes are among `known_scopes`.',
    access: withinProjects(editors('keys:write')),
    body: KeyCreate,
    status: 201,
    answer: CreatedKey,
    refusals: ['not_found', 'key_limit_reached'],
    replayable: true,
    handle: (deps, { db, principal, body, replay }) => createKey(deps, db, principal, body, replay),
  }),
  vendorRoute('GET', '/v1/keys', {
    operation: 'listKeys',
    summary: 'List keys',
    description: 'Returns keys, newest first.',
    access: withinProjects(readers('keys:read')),
    query: KeyList,
    answer: Keys,
    handle: async (deps, { db, principal, query }) => ({
      body: await listKeysPage(deps, db, principal, query),
    }),
  }),
  vendorRoute('POST', '/v1/keys/identify', {
    operation: 'identifyKey',
    summary: 'Identify a key',
    description:
      'Returns the record of a key that you have as text, whatever its status. Changes nothing. A credential can identify 60 keys a minute: your servers verify keys in memory.',
    access: withinProjects(editors('keys:read')),
    body: KeyIdentify,
    answer: Key,
    refusals: ['not_found'],
    handle: async (deps, { db, principal, body }) => ({
      body: await identifyKey(deps, db, principal, body.key),
    }),
  }),
  vendorRoute('DELETE', '/v1/keys/ended', {
    operation: 'deleteEndedKeys',
    summary: 'Delete ended keys',
    description:
      'Deletes a batch of the revoked and expired keys, of a project, tenant or environment if the query names one. Repeat the call while `has_more` is true. The audit log keeps what happened to them.',
    access: owners('keys:write'),
    query: EndedKeysQuery,
    answer: EndedKeysDeleted,
    handle: async (deps, { db, principal, query }) => ({
      body: await deleteEnded(deps, db, principal, query),
    }),
  }),
  vendorRoute('GET', '/v1/keys/:id', {
    operation: 'getKey',
    summary: 'Get a key',
    description: 'Returns the settings and the status of a key, without the key itself.',
    access: withinProjects(readers('keys:read')),
    answer: Key,
    handle: async (_, { db, principal, id }) => ({ body: await getKey(db, principal, id) }),
  }),
  vendorRoute('PATCH', '/v1/keys/:id', {
    operation: 'updateKey',
    summary: 'Update a key',
    description: 'Replaces the fields that the body names. A revoked key cannot be changed.',
    access: withinProjects(editors('keys:write')),
    body: KeyUpdate,
    answer: Key,
    refusals: ['key_not_active', 'key_limit_reached'],
    handle: async (deps, { db, principal, id, body }) => ({
      body: await updateKeyFields(deps, db, principal, id, body),
    }),
  }),
  vendorRoute('POST', '/v1/keys/:id/rotate', {
    operation: 'rotateKey',
    summary: 'Rotate a key',
    description:
      'Issues a successor with the same settings. The old key keeps working until the overlap ends.',
    access: withinProjects(editors('keys:write')),
    body: RotateBody,
    answer: RotatedKey,
    refusals: ['key_not_active', 'key_limit_reached'],
    replayable: true,
    handle: (deps, { db, principal, id, body, replay }) =>
      rotateKey(deps, db, principal, id, body.overlap_hours ?? overlapHoursDefault, replay),
  }),
  vendorRoute('POST', '/v1/keys/:id/revoke', {
    operation: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'Revokes the key for good. With `wait=true` the response waits until your servers have the change. Repeating the call changes nothing.',
    access: withinProjects(editors('keys:write')),
    query: RevokeQuery,
    body: RevokeBody,
    answer: RevokedKey,
    endsRights: true,
    target: 'api_key',
    handle: async (deps, { db, principal, id, query, body, hangUp }) => ({
      body: await revokeKey(
        deps,
        db,
        principal,
        id,
        body.reason ?? null,
        query.wait === 'true' ? hangUp() : null,
      ),
    }),
  }),
]

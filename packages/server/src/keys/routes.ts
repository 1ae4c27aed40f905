import { RevokeBody, RotateBody } from '@keyrail/contract/shared'
import {
  CreatedKey,
  Key,
  KeyCreate,
  KeyList,
  Keys,
  KeyUpdate,
  RevokedKey,
  RevokeQuery,
  RotatedKey,
} from '@keyrail/contract/vendor/keys'
import { editors, readers, withinProjects } from '../gate/access.ts'
import { type Route, vendorRoute } from '../gate/route.ts'
import { getKey, listKeysPage, revokeKey, updateKeyFields } from './actions.ts'
import { createKey, rotateKey } from './issue.ts'

export const keyRoutes: Route[] = [
  vendorRoute('POST', '/v1/keys', {
    operation: 'createKey',
    summary: 'Issue a key to a tenant',
    access: withinProjects(editors('keys:write')),
    body: KeyCreate,
    status: 201,
    answer: CreatedKey,
    refusals: ['not_found', 'key_limit_reached'],
    replayable: true,
    handle: (deps, { principal, body, replay }) => createKey(deps, principal, body, replay),
  }),
  vendorRoute('GET', '/v1/keys', {
    operation: 'listKeys',
    summary: 'List keys, newest first',
    access: withinProjects(readers('keys:read')),
    query: KeyList,
    answer: Keys,
    handle: async (deps, { principal, query }) => ({ body: await listKeysPage(deps, principal, query) }),
  }),
  vendorRoute('GET', '/v1/keys/:id', {
    operation: 'getKey',
    summary: 'Read a key',
    access: withinProjects(readers('keys:read')),
    answer: Key,
    handle: async (deps, { principal, id }) => ({ body: await getKey(deps, principal, id) }),
  }),
  vendorRoute('PATCH', '/v1/keys/:id', {
    operation: 'updateKey',
    summary: 'Change a key',
    access: withinProjects(editors('keys:write')),
    body: KeyUpdate,
    answer: Key,
    refusals: ['key_not_active'],
    handle: async (deps, { principal, id, body }) => ({
      body: await updateKeyFields(deps, principal, id, body),
    }),
  }),
  vendorRoute('POST', '/v1/keys/:id/rotate', {
    operation: 'rotateKey',
    summary: 'Put a successor beside a key, which lives on for the overlap',
    access: withinProjects(editors('keys:write')),
    body: RotateBody,
    answer: RotatedKey,
    refusals: ['key_not_active', 'key_limit_reached'],
    replayable: true,
    handle: (deps, { principal, id, body, replay }) =>
      rotateKey(deps, principal, id, body.overlap_hours ?? 24, replay),
  }),
  vendorRoute('POST', '/v1/keys/:id/revoke', {
    operation: 'revokeKey',
    summary: 'End a key for good; repeating it changes nothing',
    access: withinProjects(editors('keys:write')),
    query: RevokeQuery,
    body: RevokeBody,
    answer: RevokedKey,
    handle: async (deps, { principal, id, query, body, hangUp }) => ({
      body: await revokeKey(
        deps,
        principal,
        id,
        body.reason ?? null,
        query.wait === 'true' ? hangUp() : null,
      ),
    }),
  }),
]

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Access, assertAccess, editors, readers, unlimitedOnly, withinProjects } from './access.ts'
import { type Principal, unlimited } from './principal.ts'

const terms = { role: 'member', liveOnly: false, inWorkspace: true } as const

test('a route that takes a secret key and names no permission does not compile', () => {
  // @ts-expect-error: without a permission
  const nameless: Access = { ...terms, credentials: ['secret_key', 'session'] }
  // @ts-expect-error: a permission that there is not
  const misspelt: Access = { ...terms, credentials: ['secret_key'], permission: 'keys:delete' }
  const people: Access = { ...terms, credentials: ['session'] }
  assert.deepEqual([nameless, misspelt, people].length, 3)
})

const key: Principal = {
  ...unlimited,
  kind: 'secret_key',
  id: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11',
  sessionId: null,
  workspaceId: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d12',
  role: 'owner',
  reach: 'both',
}
const may = (principal: Principal, access: Access) => assertAccess(principal, access, false)

test('a key without a list of permissions may what its role may', () => {
  may(key, editors('keys:write'))
  may(key, unlimitedOnly(editors('members:write')))
})

test('an empty list of permissions is no permission, and an empty list of projects is no project', () => {
  const none = { ...key, permissions: new Set<never>() }
  assert.throws(() => may(none, readers('keys:read')), { code: 'insufficient_permission' })
  const nowhere = { ...key, projectIds: [] }
  assert.throws(() => may(nowhere, readers('audit:read')), { code: 'whole_workspace_required' })
  assert.throws(() => may({ ...key, networks: [] }, unlimitedOnly(editors('members:write'))), {
    code: 'insufficient_permission',
  })
})

test('writing is no reading, and reading no writing', () => {
  const reader = { ...key, permissions: new Set(['keys:read'] as const) }
  const writer = { ...key, permissions: new Set(['keys:write'] as const) }
  may(reader, readers('keys:read'))
  may(writer, editors('keys:write'))
  assert.throws(() => may(reader, editors('keys:write')), { code: 'insufficient_permission' })
  assert.throws(() => may(writer, readers('keys:read')), { code: 'insufficient_permission' })
})

test('a key that is bound to projects is let in only where the room knows of it', () => {
  const bound = { ...key, projectIds: ['01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d13'] }
  may(bound, withinProjects(readers('keys:read')))
  assert.throws(() => may(bound, readers('keys:read')), { code: 'whole_workspace_required' })
})

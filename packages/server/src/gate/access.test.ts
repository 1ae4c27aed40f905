import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Access, assertAccess, editors, readers, unlimitedOnly, withinProjects } from './access.ts'
import { type Principal, unlimited } from './principal.ts'

const terms = { role: 'member', liveOnly: false, inWorkspace: true } as const

test('a route that accepts secret keys without naming a permission does not compile', () => {
  // @ts-expect-error: without a permission
  const nameless: Access = { ...terms, credentials: ['secret_key', 'session'] }
  // @ts-expect-error: an unknown permission
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

test('a key without permissions can do what its role can do', () => {
  may(key, editors('keys:write'))
  may(key, unlimitedOnly(editors)('members:write'))
})

test('an empty list of permissions or of projects allows nothing', () => {
  const none = { ...key, permissions: new Set<never>() }
  assert.throws(() => may(none, readers('keys:read')), { code: 'insufficient_permission' })
  const nowhere = { ...key, projectIds: [] }
  assert.throws(() => may(nowhere, readers('audit:read')), { code: 'whole_workspace_required' })
  assert.throws(() => may({ ...key, networks: [] }, unlimitedOnly(editors)('members:write')), {
    code: 'insufficient_permission',
  })
})

test('a write permission does not include reading, nor the reverse', () => {
  const reader = { ...key, permissions: new Set(['keys:read'] as const) }
  const writer = { ...key, permissions: new Set(['keys:write'] as const) }
  may(reader, readers('keys:read'))
  may(writer, editors('keys:write'))
  assert.throws(() => may(reader, editors('keys:write')), { code: 'insufficient_permission' })
  assert.throws(() => may(writer, readers('keys:read')), { code: 'insufficient_permission' })
})

test('a key bound to projects is admitted only to routes that support it', () => {
  const bound = { ...key, projectIds: ['01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d13'] }
  may(bound, withinProjects(readers)('keys:read'))
  assert.throws(() => may(bound, readers('keys:read')), { code: 'whole_workspace_required' })
})

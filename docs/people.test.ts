import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '../packages/server/src/routes.ts'
import { settings } from '../packages/server/src/settings.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { makePerson } from '../packages/server/test/people.ts'
import { sampleOf } from '../packages/server/test/samples.ts'
import { makeVendor } from '../packages/server/test/vendor.ts'
import { figuresMissing, readDocument, section, tableOf } from './documents.ts'

const harness = await startHarness()
const page = readDocument('docs/people.md')
const vendorRoutes = routes.filter(
  ({ plane, path, access }) =>
    plane === 'vendor' && path !== '/v1/workspaces' && !access.open && access.credentials.includes('session'),
)
const rosterPaths = /^\/v1\/(members|invites)/

/** Whether a role may call a route, by the answer to a request that would succeed. */
async function mayAsk(role: 'owner' | 'admin' | 'member', route: (typeof routes)[number]): Promise<boolean> {
  const vendor = await makeVendor(harness)
  const { token } = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role })
  const { url, body } = await sampleOf(route, harness, vendor)
  const { status } = await harness.ask(route.method, url, { token, ...(body && { body }) })
  assert.ok(status < 400 || status === 403, `${route.operation} answered ${status}`)
  return status < 400
}

/** What only an owner reads or deletes, beside the roster. */
const forOwners = ['listSecurityEvents', 'deleteEndedKeys', 'deleteEndedSecretKeys']
const isForOwners = ({ operation }: { operation: string }) => forOwners.includes(operation)

/** A count has a filter in its body. */
const isRead = ({ method, operation }: { method: string; operation: string }) =>
  method === 'GET' || operation === 'countKeys'

const columns = {
  reads: vendorRoutes.filter(route => isRead(route) && !isForOwners(route)),
  changes: vendorRoutes.filter(
    route => !isRead(route) && !isForOwners(route) && !rosterPaths.test(route.path),
  ),
  roster: vendorRoutes.filter(
    route => (route.method !== 'GET' && rosterPaths.test(route.path)) || isForOwners(route),
  ),
}

test('each role may do what its row says, on every route of the vendor plane', async () => {
  for (const [role = '', ...said] of tableOf(section(page, 'Roles'))) {
    for (const [i, asked] of Object.values(columns).entries()) {
      assert.ok(asked.length > 1)
      for (const route of asked) {
        // An admin may not rotate an owner's key, which the sample is.
        if (role === '`admin`' && route.operation === 'rotateSecretKey') continue
        const may = await mayAsk(role.replaceAll('`', '') as 'owner', route)
        assert.equal(may ? 'yes' : 'no', said[i], `${role} ${route.operation}`)
      }
    }
  }
})

test('the lifetime of sessions and the length of passwords match the settings', () => {
  assert.equal(Number(settings.SERVICE_SESSION_MAX_AGE_S.default), 7 * 86_400)
  assert.equal(Number(settings.SERVICE_SESSION_IDLE_S.default), 86_400)
  assert.deepEqual(figuresMissing(section(page, 'Sessions'), ['seven days', 'a day']), [])
  const length = `${settings.SERVICE_PASSWORD_MIN_LENGTH.default} to 256 characters`
  assert.deepEqual(figuresMissing(page, [length]), [])
})

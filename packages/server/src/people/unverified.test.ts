import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeMailedToken, makePerson } from '../../test/people.ts'
import { makeVendor, uniqueSlug } from '../../test/vendor.ts'
import { routes } from '../routes.ts'

const harness = await startHarness({ signUp: 'invited' })
const { ask, query } = harness
const closed = await startHarness({ signUp: 'closed' })
const vendor = await makeVendor(harness)
/** An account that somebody made at an invited address; as an owner, nothing else would keep it out. */
const make = () => makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner', verified: false })

/** What such an account may do. */
const own = [
  'acceptInvite',
  'changePassword',
  'endCurrentSession',
  'endOtherSessions',
  'endSession',
  'getMe',
  'listOwnSecurityEvents',
  'listSessions',
  'requestVerification',
  'updateMe',
]

test('where only invited people sign up, an unverified account reaches only itself', async () => {
  const allowed: string[] = []
  for (const { method, path, operation, access } of routes) {
    if (access.open || !access.credentials.includes('session')) continue
    const { token } = await make()
    const url = path.replace(/:\w+/g, randomUUID())
    const { status, body } = await ask(method, url, { token, ...(method !== 'GET' && { body: {} }) })
    if (body.code === 'email_not_verified') assert.equal(status, 403)
    else allowed.push(operation)
  }
  assert.deepEqual(allowed.toSorted(), own)
})

test('where no person signs up any more, neither does an account from before', async () => {
  const { token } = await makePerson(closed.query, { verified: false })
  const body = { name: 'Mine', slug: uniqueSlug() }
  const refused = await closed.ask('POST', '/v1/workspaces', { token, body })
  assert.deepEqual([refused.status, refused.body.code], [403, 'email_not_verified'])
  assert.equal((await closed.ask('GET', '/v1/auth/me', { token })).status, 200)
})

test('there the account acts as soon as its address is verified, in the same session', async () => {
  const { token, userId } = await make()
  const create = () => ask('POST', '/v1/workspaces', { token, body: { name: 'Mine', slug: uniqueSlug() } })
  assert.equal((await create()).body.code, 'email_not_verified')
  const mailed = await makeMailedToken(query, userId, 'verification')
  const { status } = await ask('POST', '/v1/auth/email_verifications/consume', { body: { token: mailed } })
  assert.equal(status, 200)
  assert.equal((await create()).status, 201)
})

test('where sign-up is open, an unverified account creates a workspace and works in it', async () => {
  const open = await startHarness({ signUp: 'open' })
  const { token } = await makePerson(open.query, { verified: false })
  const body = { name: 'Mine', slug: uniqueSlug() }
  assert.equal((await open.ask('POST', '/v1/workspaces', { token, body })).status, 201)
  const project = { name: 'Payments', slug: 'payments' }
  assert.equal((await open.ask('POST', '/v1/projects', { token, body: project })).status, 201)
})

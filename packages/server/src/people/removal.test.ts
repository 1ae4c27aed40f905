import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { dump } from '../../test/dump.ts'
import { startHarness } from '../../test/harness.ts'
import { madePassword, makeMailedToken, makePerson, openSession } from '../../test/people.ts'
import { openBarrier } from '../../test/races/barrier.ts'
import { makeVendor, uniqueSlug } from '../../test/vendor.ts'
import { erasePerson, findPersonLabel, OwnedAlone } from './removal.ts'

const whole = await startHarness()
const { ask, query, connection } = whole

describe('erasing a person for good', () => {
  const client = new pg.Client(connection)
  before(() => client.connect())
  after(() => client.end())

  test('no table has the person any more, the chains verify, and others lose nothing', async () => {
    const email = `Erased.${uniqueSlug()}@example.com`
    const key = email.toLowerCase()
    const person = await makePerson(query, { email, name: 'Erased Person' })
    const bystander = await makePerson(query)
    const owned = await ask('POST', '/v1/workspaces', {
      token: person.token,
      headers: { 'idempotency-key': 'made' },
      body: { name: 'Theirs', slug: uniqueSlug(), billing_email: 'billing@example.com' },
    })
    const live = owned.body.secret_key.key
    const second = await makePerson(query, { workspaceId: owned.body.id, role: 'owner' })
    const vendor = await makeVendor(whole)
    const invited = await ask('POST', '/v1/invites', {
      token: vendor.live,
      headers: { 'idempotency-key': 'invited' },
      body: { email, role: 'member' },
    })
    await ask('POST', '/v1/auth/invites/accept', { token: person.token, body: { token: invited.body.token } })
    await ask('DELETE', `/v1/members/${person.userId}`, { token: vendor.live })
    await ask('POST', '/v1/invites', { token: vendor.live, body: { email: key, role: 'admin' } })
    await ask('POST', '/v1/auth/sessions', { body: { email, password: madePassword } })
    await ask('POST', '/v1/auth/password_resets', { body: { email } })
    await makeMailedToken(query, person.userId, 'verification')
    const everywhere = JSON.stringify(await dump(query)).toLowerCase()
    assert.ok(everywhere.includes(key) && everywhere.includes('erased person'))

    const removed = await erasePerson(client, key)
    assert.deepEqual([removed.users, removed.user_passwords, removed.sessions], [1, 1, 2])
    assert.ok((removed.security_events ?? 0) >= 1)
    assert.deepEqual(await query('select id from security_events where user_id = $1', [person.userId]), [])
    const left = JSON.stringify(await dump(query)).toLowerCase()
    assert.ok(!left.includes(key) && !left.includes('erased person'))

    for (const token of [live, vendor.live]) {
      assert.equal((await ask('GET', '/v1/audit_logs/chain', { token })).body.valid, true)
      const { status, body } = await ask('GET', '/v1/audit_logs', { token })
      assert.equal(status, 200)
      // biome-ignore lint/suspicious/noExplicitAny: rows of the API, held against its schema.
      for (const row of body.data.filter((one: any) => one.actor_id === person.userId))
        assert.equal(row.actor, undefined)
    }
    assert.equal((await ask('GET', '/v1/auth/me', { token: person.token })).status, 401)
    for (const { token } of [bystander, second]) {
      assert.equal((await ask('GET', '/v1/auth/me', { token })).status, 200)
    }
    assert.equal(await findPersonLabel(client, key), null)
    // The address is free again, for an account that is unrelated to the erased one.
    assert.equal(
      (await ask('POST', '/v1/auth/users', { body: { email, password: madePassword } })).status,
      202,
    )
  })

  test('invitations by the person, or by secret keys below them, no longer work', async () => {
    const { live, workspaceId } = await makeVendor(whole)
    await makePerson(query, { workspaceId, role: 'owner' })
    const person = await makePerson(query, { workspaceId, role: 'owner' })
    const key = await ask('POST', '/v1/secret_keys', { token: person.token, body: { env: 'live' } })
    const below = await ask('POST', '/v1/secret_keys', { token: key.body.key, body: { env: 'live' } })
    const invite = async (token: string) => {
      const body = { email: `${uniqueSlug()}@example.com`, role: 'owner' }
      return (await ask('POST', '/v1/invites', { token, body })).body.token
    }
    const theirs = [await invite(person.token), await invite(key.body.key), await invite(below.body.key)]
    const other = await invite(live)
    await erasePerson(client, person.email.toLowerCase())
    const { token } = await makePerson(query)
    const accept = (invitation: string) =>
      ask('POST', '/v1/auth/invites/accept', { token, body: { token: invitation } })
    for (const invitation of theirs) assert.equal((await accept(invitation)).body.code, 'invalid_token')
    assert.equal((await accept(other)).status, 200)
  })

  test('a session that begins while the person is erased cannot invite', async () => {
    const { workspaceId } = await makeVendor(whole)
    await makePerson(query, { workspaceId, role: 'owner' })
    const person = await makePerson(query, { workspaceId, role: 'owner' })
    const barrier = await openBarrier(whole)
    await barrier.hold('select from users where id = $1 for key share', [person.userId])
    const erased = erasePerson(client, person.email.toLowerCase())
    await barrier.untilWaiting(1)
    const { token } = await openSession(query, person.userId, workspaceId)
    const body = { email: `${uniqueSlug()}@example.com`, role: 'owner' }
    const invited = ask('POST', '/v1/invites', { token, body })
    await Promise.race([invited, barrier.untilWaiting(2)])
    await barrier.release()
    await erased
    assert.equal((await invited).status, 401)
    const made = await query('select from workspace_invites where created_by_id = $1', [person.userId])
    assert.equal(made.length, 0)
  })

  test('the only owner of a workspace is not erased, and keeps everything', async () => {
    const person = await makePerson(query)
    const slug = uniqueSlug()
    await ask('POST', '/v1/workspaces', { token: person.token, body: { name: 'Alone', slug } })
    const before = await dump(query)
    await assert.rejects(erasePerson(client, person.email), OwnedAlone)
    assert.deepEqual((await findPersonLabel(client, person.email))?.ownedAlone, [slug])
    assert.deepEqual(await dump(query), before)
  })

  test('an acceptance under way ends before the removal, or finds no person', async () => {
    const vendor = await makeVendor(whole)
    for (let round = 0; round < 10; round++) {
      const person = await makePerson(query)
      const { body } = await ask('POST', '/v1/invites', {
        token: vendor.live,
        body: { email: `${uniqueSlug()}@example.com`, role: 'owner' },
      })
      const [accepted] = await Promise.all([
        ask('POST', '/v1/auth/invites/accept', { token: person.token, body: { token: body.token } }),
        // As the only owner, the person stays.
        erasePerson(client, person.email).catch(error => assert.ok(error instanceof OwnedAlone)),
      ])
      const [{ there }] = await query('select count(*)::int as there from users where id = $1', [
        person.userId,
      ])
      const members = await query('select from workspace_members where user_id = $1', [person.userId])
      const traces = await query('select from audit_addresses where address = $1', [person.email])
      if (there === 0) assert.deepEqual([members.length, traces.length], [0, 0], `${accepted.status}`)
      else assert.equal(accepted.status, 200)
    }
    assert.equal((await ask('GET', '/v1/audit_logs/chain', { token: vendor.live })).body.valid, true)
  })

  test('an address that was only invited is erased too, and an unknown one is reported', async () => {
    const vendor = await makeVendor(whole)
    const email = `${uniqueSlug()}@example.com`
    await ask('POST', '/v1/invites', { token: vendor.live, body: { email, role: 'member' } })
    assert.equal((await findPersonLabel(client, email))?.userId, null)
    assert.equal((await erasePerson(client, email)).workspace_invites, 1)
    assert.ok(!JSON.stringify(await dump(query)).includes(email))
    assert.equal(await findPersonLabel(client, 'nobody@example.com'), null)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { madePassword, makePerson } from '../../test/people.ts'

const harness = await startHarness({ authPerIp: 5 })
const { ask, query, clock } = harness
/** All requests of this file come from one network. */
const signIn = (email: string, password = madePassword, device_token?: string) =>
  ask('POST', '/v1/auth/sessions', { body: { email, password, ...(device_token && { device_token }) } })
const nextMinute = () => clock.skip(60_000)
const fail = async (email: string, device_token?: string) => {
  for (let i = 0; i < 6; i++) await signIn(email, 'a wrong guess', device_token)
}

test('who guesses in a network does not keep out a device that has signed in before', async () => {
  const { email } = await makePerson(query)
  const { device_token } = (await signIn(email)).body
  await fail(email)
  assert.equal((await signIn(email)).status, 429, 'the network has used up its failures')
  const own = await signIn(email, madePassword, device_token)
  assert.equal(own.status, 201)
  nextMinute()
  await fail(email)
  assert.equal((await signIn(email, madePassword, own.body.device_token)).status, 201)
  nextMinute()
})

test('failures of a device are not those of its network', async () => {
  const { email } = await makePerson(query)
  const { device_token } = (await signIn(email)).body
  await fail(email, device_token)
  assert.equal((await signIn(email, madePassword, device_token)).status, 429)
  assert.equal((await signIn(email)).status, 201)
  nextMinute()
})

test('a token that is forged, too old, or of another account is as good as none', async () => {
  const { email } = await makePerson(query)
  const { email: other } = await makePerson(query)
  const { device_token } = (await signIn(email)).body
  const foreign = (await signIn(other)).body.device_token
  await fail(email)
  for (const token of [foreign, `${device_token}A`, 'x', 'ü'])
    assert.equal((await signIn(email, madePassword, token)).status, 429, token)
  clock.advance(90 * 24 * 3_600_000 + 1)
  await fail(email)
  assert.equal((await signIn(email, madePassword, device_token)).status, 429)
})

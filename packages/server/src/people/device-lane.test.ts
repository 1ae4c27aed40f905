import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { madePassword, makeMailedToken, makePerson } from '../../test/people.ts'
import type { HashCaller, Passwords } from '../platform/crypto/password.ts'

const harness = await startHarness({ authPerIp: 5 })
const { ask, query, clock, deps } = harness
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
  nextMinute()
})

test('a device token ends with the password, by a change as by a reset', async () => {
  const person = await makePerson(query)
  const { device_token, token } = (await signIn(person.email)).body
  const [next, last] = ['another long enough word', 'yet another long word']
  const body = { current_password: madePassword, password: next }
  assert.equal((await ask('POST', '/v1/auth/me/password', { token, body })).status, 200)
  await fail(person.email)
  assert.equal((await signIn(person.email, next, device_token)).status, 429)
  nextMinute()
  const fresh = (await signIn(person.email, next)).body.device_token
  const reset = await makeMailedToken(query, person.userId, 'password_reset')
  await ask('POST', '/v1/auth/password_resets/consume', { body: { token: reset, password: last } })
  await fail(person.email)
  assert.equal((await signIn(person.email, last, fresh)).status, 429)
  nextMinute()
})

test('an account has the ten devices that signed in last', async () => {
  const { email } = await makePerson(query)
  const tokens: string[] = []
  for (let i = 0; i < 11; i++) tokens.push((await signIn(email)).body.device_token)
  await fail(email)
  assert.equal((await signIn(email, madePassword, tokens[0])).status, 429)
  for (const token of tokens.slice(1)) assert.equal((await signIn(email, madePassword, token)).status, 201)
  nextMinute()
})

test('a signed-in person changes the password beside guesses of the same network', async () => {
  const { email, token } = await makePerson(query)
  await fail(email)
  const body = { current_password: madePassword, password: 'another long enough word' }
  assert.equal((await ask('POST', '/v1/auth/me/password', { token, body })).status, 200)
  nextMinute()
})

test('what a caller has proved is its standing in the line for the hasher', async () => {
  const [a, b] = [await makePerson(query), await makePerson(query)]
  const standings: string[] = []
  const { passwords } = deps
  const noted: Passwords = {
    ...passwords,
    hash: (password, caller) => passwords.hash(password, noteOf(caller)),
    verify: (phc, password, caller) => passwords.verify(phc, password, noteOf(caller)),
  }
  const noteOf = (caller: HashCaller) => {
    standings.push(`${caller.standing} ${caller.ip}`)
    return caller
  }
  Object.assign(deps, { passwords: noted })
  for (const { email, token } of [a, b]) {
    const { device_token } = (await signIn(email)).body
    await signIn(email, madePassword, device_token)
    const body = { current_password: madePassword, password: 'another long enough word' }
    await ask('POST', '/v1/auth/me/password', { token, body })
  }
  assert.deepEqual(
    new Set(standings),
    new Set(['stranger 127.0.0.1', 'known 127.0.0.1', 'signed in 127.0.0.1']),
  )
})

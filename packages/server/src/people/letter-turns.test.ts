import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { makeSecretKey, makeVendor, uniqueSlug } from '../../test/vendor.ts'
import { jobSchema } from '../platform/jobs/job-queue.ts'

const { ask, query, ...harness } = await startHarness({ trustProxy: 1 })
const [flood, other, quiet] = ['203.0.113.9', '198.51.100.7', '192.0.2.4']
const post = (path: string, ip: string, body: object, token?: string) =>
  ask('POST', path, { body, headers: { 'x-forwarded-for': ip }, ...(token !== undefined && { token }) })
const signUp = (ip: string, email = `${uniqueSlug('new')}@example.com`) =>
  post('/v1/auth/users', ip, { email, password: 'a walk in the park' })

/** The letters in the order in which workers take them. */
const taken = async (): Promise<string[]> =>
  (
    await query(
      `select payload->>'kind' || ' ' || coalesce(payload->'ids'->>'user_id', '-') as letter
       from ${jobSchema}._private_jobs order by priority, run_at, id`,
    )
  ).map(({ letter }) => letter)

beforeEach(() => query(`delete from ${jobSchema}._private_jobs`))

test('a reset of a verified address goes before a flood of sign-ups, one network like another', async () => {
  const { email, userId } = await makePerson(query)
  for (let i = 0; i < 20; i++) await signUp(flood)
  await post('/v1/auth/password_resets', flood, { email })
  const [first] = await taken()
  assert.equal(first, `password_reset ${userId}`)
})

test('networks take turns with letters to addresses that are not verified', async () => {
  for (let i = 0; i < 20; i++) await signUp(flood)
  const { userId, token } = await makePerson(query, { verified: false })
  await post('/v1/auth/email_verifications', other, {}, token)
  const late = await makePerson(query, { verified: false })
  await post('/v1/auth/password_resets', quiet, { email: late.email })
  const letters = await taken()
  assert.deepEqual(
    new Set(letters.slice(0, 2)),
    new Set([`verification ${userId}`, `password_reset ${late.userId}`]),
  )
})

test('an alarm goes before everything else', async () => {
  const vendor = await makeVendor({ ask, ...harness })
  const owner = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
  await post('/v1/auth/password_resets', quiet, { email: owner.email })
  await makeSecretKey({ ask }, vendor, { env: 'live' })
  const letters = await taken()
  assert.equal(letters.at(-1), `password_reset ${owner.userId}`)
  assert.equal(letters.length, 2)
})

test('an address without an account takes the same turn as one with', async () => {
  const known = await makePerson(query, { verified: false })
  await signUp(quiet, known.email)
  await signUp(quiet)
  const rows = await query(`select priority from ${jobSchema}._private_jobs order by id`)
  assert.equal(rows[1].priority - rows[0].priority, 1)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Heard, startHarness } from '../../test/harness.ts'
import { madePassword, makePerson } from '../../test/people.ts'
import { uniqueSlug } from '../../test/vendor.ts'

/**
 * No client can find out whether an address has an account: not from the response, not from the number of queued mails,
 * and not from the number of password hashes, which dominates the response time. The tests count and do not measure time.
 */
const harness = await startHarness()
const { ask, query, deps } = harness

const uniqueEmail = () => `${uniqueSlug('nobody')}@example.com`
const password = 'a walk in the park'

const jobCount = async () =>
  (await query('select count(*)::int as n from graphile_worker.jobs'))[0].n as number
async function hashCount(): Promise<number> {
  const [, count = '0'] = /^keyrail_password_hashes_total (\d+)$/m.exec(await deps.metrics.text()) ?? []
  return Number(count)
}

/** The number of security events, however they are folded into rows. */
async function eventCount(): Promise<number> {
  await deps.securityEvents.flush()
  return (await query('select coalesce(sum(count), 0)::int as n from security_events'))[0].n
}

/** Everything that a client can observe or cause, without the parts that differ between any two responses. */
async function observe(asked: () => Promise<Heard>) {
  const [jobs, hashes, events] = [await jobCount(), await hashCount(), await eventCount()]
  const { status, headers, body } = await asked()
  return {
    status,
    body: { ...body, request_id: undefined },
    headers: { ...headers, 'x-request-id': undefined, date: undefined },
    jobs: (await jobCount()) - jobs,
    hashes: (await hashCount()) - hashes,
    events: (await eventCount()) - events,
  }
}

test('the tests see each password hash', async () => {
  const before = await hashCount()
  await ask('POST', '/v1/auth/sessions', { body: { email: uniqueEmail(), password } })
  assert.equal((await hashCount()) - before, 1)
})

const requests: Record<
  string,
  { ask: (email: string) => Promise<Heard>; status: number; jobs: number; hashes: number; events: number }
> = {
  'sign-up': {
    ask: email => ask('POST', '/v1/auth/users', { body: { email, password } }),
    status: 202,
    jobs: 1,
    hashes: 1,
    events: 0,
  },
  'sign-in with a wrong password': {
    ask: email => ask('POST', '/v1/auth/sessions', { body: { email, password } }),
    status: 401,
    jobs: 0,
    hashes: 1,
    events: 1,
  },
  'sign-in with a wrong password and a workspace': {
    ask: email =>
      ask('POST', '/v1/auth/sessions', {
        body: { email, password, workspace_id: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11' },
      }),
    status: 401,
    jobs: 0,
    hashes: 1,
    events: 1,
  },
  'reset request': {
    ask: email => ask('POST', '/v1/auth/password_resets', { body: { email } }),
    status: 202,
    jobs: 1,
    hashes: 0,
    events: 1,
  },
}

for (const [name, request] of Object.entries(requests)) {
  test(`${name}: known and unknown addresses get the same response, mails and hashes`, async () => {
    const known = await observe(async () => request.ask((await makePerson(query)).email))
    const unverified = await observe(async () =>
      request.ask((await makePerson(query, { verified: false })).email),
    )
    const unknown = await observe(() => request.ask(uniqueEmail()))
    assert.deepEqual(known, unknown)
    assert.deepEqual(unverified, unknown)
    const { ask: _, ...expected } = request
    const { status, jobs, hashes, events } = unknown
    assert.deepEqual({ status, jobs, hashes, events }, expected)
  })

  test(`${name}: the sixth request within an hour is the same for both too`, async () => {
    const { email } = await makePerson(query)
    const nobody = uniqueEmail()
    for (let i = 0; i < 5; i++) {
      await request.ask(email)
      await request.ask(nobody)
    }
    assert.deepEqual(await observe(() => request.ask(email)), await observe(() => request.ask(nobody)))
  })
}

test('a foreign workspace is refused with 403 only after the right password', async () => {
  const { email } = await makePerson(query)
  const workspace_id = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
  const body = { email, password: madePassword, workspace_id }
  const { status, body: problem } = await ask('POST', '/v1/auth/sessions', { body })
  assert.deepEqual([status, problem.code], [403, 'forbidden'])
})

test('a mail job for an unknown address has the same form, with a null user id', async () => {
  await query('delete from graphile_worker._private_jobs')
  await ask('POST', '/v1/auth/password_resets', { body: { email: uniqueEmail() } })
  const { email, userId } = await makePerson(query)
  await ask('POST', '/v1/auth/password_resets', { body: { email } })
  const rows = await query('select payload from graphile_worker._private_jobs order by id')
  assert.deepEqual(
    rows.map(({ payload }) => payload),
    [
      { kind: 'password_reset', ids: { user_id: null } },
      { kind: 'password_reset', ids: { user_id: userId } },
    ],
  )
})

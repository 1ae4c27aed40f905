import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Heard, startHarness } from '../../test/harness.ts'
import { madePassword, makePerson } from '../../test/people.ts'
import { uniqueSlug } from '../../test/vendor.ts'

/**
 * Nobody learns whether an address has an account: not from what is answered, not from how much mail is queued, and
 * not from how often the hasher runs, which is what an answer's time would tell. Counted, not timed.
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

/** What is noted of security, however it is folded into rows. */
async function eventCount(): Promise<number> {
  await deps.securityEvents.flush()
  return (await query('select coalesce(sum(count), 0)::int as n from security_events'))[0].n
}

/** All that a stranger can hear or cause, but for what differs between any two answers. */
async function told(asked: () => Promise<Heard>) {
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

test('the hasher is counted at all', async () => {
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
  test(`${name}: a known and an unknown address are answered, mailed and hashed alike`, async () => {
    const known = await told(async () => request.ask((await makePerson(query)).email))
    const unverified = await told(async () =>
      request.ask((await makePerson(query, { verified: false })).email),
    )
    const unknown = await told(() => request.ask(uniqueEmail()))
    assert.deepEqual(known, unknown)
    assert.deepEqual(unverified, unknown)
    const { ask: _, ...expected } = request
    const { status, jobs, hashes, events } = unknown
    assert.deepEqual({ status, jobs, hashes, events }, expected)
  })

  test(`${name}: the sixth time within an hour is the same for both too`, async () => {
    const { email } = await makePerson(query)
    const nobody = uniqueEmail()
    for (let i = 0; i < 5; i++) {
      await request.ask(email)
      await request.ask(nobody)
    }
    assert.deepEqual(await told(() => request.ask(email)), await told(() => request.ask(nobody)))
  })
}

test('a workspace of others is told of only to who has the right password', async () => {
  const { email } = await makePerson(query)
  const workspace_id = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
  const body = { email, password: madePassword, workspace_id }
  const { status, body: problem } = await ask('POST', '/v1/auth/sessions', { body })
  assert.deepEqual([status, problem.code], [403, 'forbidden'])
})

test('a job for an address without an account is of the same form, and names nobody', async () => {
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

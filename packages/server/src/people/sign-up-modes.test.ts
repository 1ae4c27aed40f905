import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Heard, startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { uniqueSlug } from '../../test/vendor.ts'

const password = 'a walk in the park'
const uniqueEmail = () => `${uniqueSlug('newcomer')}@example.com`

for (const signUp of ['invited', 'closed'] as const) {
  const harness = await startHarness({ signUp })
  const { ask, query, deps } = harness
  const post = (email: string) => ask('POST', '/v1/auth/users', { body: { email, password } })
  const accounts = async (email: string) =>
    (await query('select count(*)::int as n from users where email = $1', [email]))[0].n
  const jobs = async () =>
    (await query('select payload from graphile_worker._private_jobs order by id')).map(row => row.payload)
  const hashes = async () =>
    Number(/^keyrail_password_hashes_total (\d+)$/m.exec(await deps.metrics.text())?.[1] ?? 0)

  async function invite(email: string, { end = 'null', expires = "interval '7 days'" } = {}) {
    const [{ id }] = await query(
      `insert into workspaces (id, name, slug, created_at, updated_at)
       values (gen_random_uuid(), 'Acme', $1, now(), now()) returning id`,
      [uniqueSlug('acme')],
    )
    await query(
      `insert into workspace_invites (workspace_id, id, email, address_key, role, digest, created_at, expires_at, revoked_at)
       values ($1, gen_random_uuid(), $2, lower($2), 'member', decode(repeat('00', 32), 'hex'), now(),
         service_now() + ${expires}, ${end})`,
      [id, email],
    )
  }

  /** Everything that a client can observe or cause, without the parts that differ between any two responses. */
  async function observe(email: string) {
    await query('delete from graphile_worker._private_jobs')
    const before = await hashes()
    const { status, headers, body }: Heard = await post(email)
    const queued = await jobs()
    return {
      status,
      body: { ...body, request_id: undefined },
      headers: { ...headers, 'x-request-id': undefined, date: undefined },
      jobs: queued.length,
      hashes: (await hashes()) - before,
    }
  }

  test(`${signUp}: a stranger gets the response of a known address, and no account`, async () => {
    const stranger = uniqueEmail()
    const heard = await observe(stranger)
    const [queued] = await jobs()
    assert.deepEqual(queued, { kind: 'sign_up_notice', ids: { user_id: null } }, 'the job has no recipient')
    assert.deepEqual(heard, await observe((await makePerson(query)).email))
    assert.deepEqual([heard.status, heard.jobs, heard.hashes], [202, 1, 1])
    assert.equal(await accounts(stranger), 0)
  })

  test(`${signUp}: the sixth request within an hour is the same for both too`, async () => {
    const stranger = uniqueEmail()
    const { email } = await makePerson(query)
    for (let i = 0; i < 5; i++) {
      await post(stranger)
      await post(email)
    }
    assert.deepEqual(await observe(stranger), await observe(email))
  })

  test(`${signUp}: an invited address ${signUp === 'invited' ? 'signs up' : 'is a stranger too'}`, async () => {
    const invited = uniqueEmail()
    await invite(invited)
    const heard = await observe(invited.toUpperCase().replace('@EXAMPLE.COM', '@example.com'))
    assert.deepEqual(heard, await observe(uniqueEmail()))
    const made = await query('select id from users where address_key = $1', [invited])
    assert.equal(made.length, signUp === 'invited' ? 1 : 0)
  })

  test(`${signUp}: a revoked, accepted or expired invitation does not allow a sign-up`, async () => {
    for (const how of [{ end: 'now()' }, { expires: "interval '-1 second'" }]) {
      const email = uniqueEmail()
      await invite(email, how)
      assert.equal((await post(email)).status, 202)
      assert.equal(await accounts(email), 0)
    }
    const accepted = uniqueEmail()
    await invite(accepted)
    await query('update workspace_invites set accepted_at = now() where email = $1', [accepted])
    await post(accepted)
    assert.equal(await accounts(accepted), 0)
  })

  test(`${signUp}: a weak password is refused alike for every address`, async () => {
    const weak = (email: string) =>
      ask('POST', '/v1/auth/users', { body: { email, password: 'password1234' } })
    const [stranger, known] = [await weak(uniqueEmail()), await weak((await makePerson(query)).email)]
    assert.deepEqual([stranger.status, stranger.body.code], [known.status, known.body.code])
    assert.equal(stranger.status, 400)
  })
}

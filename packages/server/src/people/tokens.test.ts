import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { dump } from '../../test/dump.ts'
import { startHarness } from '../../test/harness.ts'
import { makeMailedToken, makePerson } from '../../test/people.ts'

/** The tokens of mailed links. Anything but a complete, unexpired token does nothing and reveals nothing. */
const harness = await startHarness()
const { ask, query, setStoreTime } = harness
afterEach(() => setStoreTime(null))

const consumers = {
  verification: (token: string) => ask('POST', '/v1/auth/email_verifications/consume', { body: { token } }),
  password_reset: (token: string) =>
    ask('POST', '/v1/auth/password_resets/consume', { body: { token, password: 'a walk in the park' } }),
} as const

for (const kind of ['verification', 'password_reset'] as const) {
  const consume = consumers[kind]
  const make = async () => {
    const { userId } = await makePerson(query, { verified: false })
    return { userId, token: await makeMailedToken(query, userId, kind) }
  }

  test(`${kind}: works once`, async () => {
    const { token } = await make()
    assert.equal((await consume(token)).status, 200)
    assert.equal((await consume(token)).body.code, 'invalid_token')
  })

  test(`${kind}: of concurrent uses one gets 200`, async () => {
    const { token } = await make()
    const statuses = (await Promise.all([consume(token), consume(token), consume(token)])).map(
      ({ status }) => status,
    )
    assert.deepEqual(statuses.toSorted(), [200, 400, 400])
  })

  test(`${kind}: expires exactly at its expiry time`, async () => {
    const { token, userId } = await make()
    const [{ expires_at }] = await query('select expires_at from mail_tokens where user_id = $1', [userId])
    for (const [offset, status] of [
      [1, 400],
      [0, 400],
      [-1, 200],
    ] as const) {
      await setStoreTime(new Date(expires_at.getTime() + offset))
      assert.equal((await consume(token)).status, status, `${offset} ms`)
    }
  })

  test(`${kind}: truncated, altered and foreign tokens do nothing and get one response`, async () => {
    const mine = await make()
    const theirs = await make()
    const other = kind === 'verification' ? 'password_reset' : 'verification'
    const ofOtherKind = await makeMailedToken(query, mine.userId, other)
    const [scope = '', secret = ''] = mine.token.split('.')
    const before = await dump(query)
    const wrong = [
      ...Array.from({ length: 8 }, (_, i) => mine.token.slice(0, -1 - i * 6)),
      mine.token.slice(1),
      `${mine.token}x`,
      `${mine.token} `,
      `${mine.token}\0`.replace('\0', ''),
      mine.token.toUpperCase(),
      `${theirs.userId}.${secret}`,
      `${scope}.${theirs.token.split('.')[1]}`,
      `${scope}.`,
      `.${secret}`,
      scope,
      secret,
      ofOtherKind,
      `01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11.${secret}`,
      '.',
      'x'.repeat(500),
    ].filter(token => token !== mine.token)
    const answers = []
    for (const token of wrong) {
      const { status, body } = await consume(token)
      answers.push({ status, ...body, request_id: '' })
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0])
    assert.deepEqual([answers[0]?.status, answers[0]?.code], [400, 'invalid_token'])
    assert.deepEqual(await dump(query), before)
    assert.equal((await consume(mine.token)).status, 200)
  })
}

test('a verification verifies its own account and no other', async () => {
  const mine = await makePerson(query, { verified: false })
  const theirs = await makePerson(query, { verified: false })
  await consumers.verification(await makeMailedToken(query, mine.userId, 'verification'))
  const verified = await query('select id from users where email_verified_at is not null and id = any($1)', [
    [mine.userId, theirs.userId],
  ])
  assert.deepEqual(verified, [{ id: mine.userId }])
})

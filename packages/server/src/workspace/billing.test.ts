import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { reportPath, signedReport } from '../../test/codehost.ts'
import { startHarness } from '../../test/harness.ts'
import { makeMailbox } from '../../test/mailbox.ts'
import { makePerson } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeScene, uniqueSlug } from '../../test/vendor.ts'
import { lettersOfPersonMax } from '../platform/mail/charge.ts'

const mailbox = makeMailbox()
const harness = await startHarness({ mail: mailbox.settings, publicUrl: 'https://keys.example.com' })
const { ask, query, setStoreTime } = harness
harness.deps.mail.start()
afterEach(() => setStoreTime(null))

const uniqueEmail = () => `${uniqueSlug('bills')}@example.com`
const makeWorkspace = (more: Record<string, unknown>) =>
  makeScene(ask, harness.deps.config.bootstrapToken ?? '', more)
const name = (token: string, billing_email: string | null) =>
  ask('PATCH', '/v1/workspace', { token, body: { billing_email } })
const prove = (token: string | undefined) =>
  ask('POST', '/v1/auth/email_verifications/consume', { body: { token: token ?? 'none' } })
const isProven = async (token: string) =>
  (await ask('GET', '/v1/workspace', { token })).body.billing_email_verified
const settled = () =>
  until(
    async () => (await query('select from graphile_worker.jobs where run_at <= now()')).length === 0,
    'the mail that is due is sent',
  )
async function leak(scene: Parameters<typeof issueKey>[1]): Promise<void> {
  const { key } = await issueKey(harness, scene)
  assert.equal((await ask('POST', reportPath, signedReport([{ token: key }]))).status, 200)
}

test('a billing address gets its verification alone until that link was used', async () => {
  const billing_email = uniqueEmail()
  const scene = await makeWorkspace({ billing_email, name: 'Win at evil.example' })
  const link = await mailbox.take(billing_email, /^Verify a billing address$/)
  assert.equal(link.page, 'https://keys.example.com/verify-email')
  assert.ok(!link.text.includes('evil.example'), link.text)
  assert.equal(await isProven(scene.live), false)
  await leak(scene)
  await settled()
  assert.deepEqual(await mailbox.all(), [])
  assert.equal((await prove(link.token)).status, 200)
  assert.equal(await isProven(scene.live), true)
  assert.equal((await prove(link.token)).body.code, 'invalid_token')
  await leak(scene)
  await mailbox.take(billing_email, /was found in public$/)
  const { body: log } = await ask('GET', '/v1/audit_logs?action=workspace.updated', { token: scene.live })
  assert.deepEqual(
    [log.data[0].actor_type, log.data[0].payload],
    ['system', { billing_email_verified: { old: false, new: true } }],
  )
})

test('another address is unproven, and a link to the last one proves nothing', async () => {
  const [first, second] = [uniqueEmail(), uniqueEmail()]
  const scene = await makeWorkspace({ billing_email: first })
  const old = await mailbox.take(first)
  assert.equal((await prove(old.token)).status, 200)
  const { body } = await name(scene.live, second)
  assert.deepEqual([body.billing_email, body.billing_email_verified], [second, false])
  const next = await mailbox.take(second)
  await name(scene.live, first)
  assert.equal(await isProven(scene.live), false)
  await mailbox.take(first)
  assert.equal((await prove(next.token)).body.code, 'invalid_token')
  await name(scene.live, null)
  assert.equal(await isProven(scene.live), false)
})

test('a link works for seven days, and naming the address again mails a newer one', async () => {
  const billing_email = uniqueEmail()
  const scene = await makeWorkspace({ billing_email })
  const first = await mailbox.take(billing_email)
  assert.equal((await name(scene.live, billing_email)).status, 200)
  const second = await mailbox.take(billing_email)
  assert.equal((await prove(first.token)).body.code, 'invalid_token')
  const [{ ends }] = await query('select billing_token_expires_at as ends from workspaces where id = $1', [
    scene.workspaceId,
  ])
  await setStoreTime(ends)
  assert.equal((await prove(second.token)).body.code, 'invalid_token')
  await setStoreTime(new Date(ends.getTime() - 1))
  assert.equal((await prove(second.token)).status, 200)
  await setStoreTime(null)
  assert.equal((await name(scene.live, billing_email)).body.billing_email_verified, true)
  await settled()
  assert.deepEqual(await mailbox.all(), [])
})

test('a release that does not know of proofs leaves a changed address unproven', async () => {
  const billing_email = uniqueEmail()
  const scene = await makeWorkspace({ billing_email })
  await prove((await mailbox.take(billing_email)).token)
  await query('update workspaces set billing_email = $2 where id = $1', [scene.workspaceId, uniqueEmail()])
  assert.equal(await isProven(scene.live), false)
})

test('verifications of billing addresses count as letters of the person', async () => {
  const person = await makePerson(query)
  const body = { name: 'Acme', slug: uniqueSlug() }
  assert.equal((await ask('POST', '/v1/workspaces', { token: person.token, body })).status, 201)
  await query(
    `insert into letter_counts (sender_hash, sent_at, expires_at)
     values (sha256(convert_to('person ' || $1, 'UTF8')), array_fill(service_now(), array[$2::int]), service_now())`,
    [person.userId, lettersOfPersonMax - 1],
  )
  assert.equal((await name(person.token, uniqueEmail())).status, 200)
  const refused = await name(person.token, uniqueEmail())
  assert.deepEqual([refused.status, Number(refused.headers['retry-after']) > 86_000], [429, true])
  await settled()
  for (const { to } of await mailbox.all()) await mailbox.take(to)
})

test('a stranger’s letters to an address take nothing from another workspace’s', async () => {
  const victim = await makePerson(query)
  const [theirs, own] = [await makeWorkspace({}), await makeWorkspace({})]
  for (const { workspaceId } of [theirs, own])
    await query(
      `insert into workspace_members (workspace_id, user_id, role, joined_at) values ($1, $2, 'owner', service_now())`,
      [workspaceId, victim.userId],
    )
  for (let i = 0; i < 6; i++) await leak(theirs)
  await settled()
  for (const { to } of await mailbox.all()) await mailbox.take(to)
  await leak(own)
  await mailbox.take(victim.email, /was found in public$/)
})

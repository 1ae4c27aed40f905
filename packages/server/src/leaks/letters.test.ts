import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeBilling } from '../../test/billing.ts'
import { reportPath, signedReport } from '../../test/codehost.ts'
import { startHarness } from '../../test/harness.ts'
import { makeMailbox } from '../../test/mailbox.ts'
import { makePerson, openSession } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const mailbox = makeMailbox()
const harness = await startHarness({ mail: mailbox.settings })
const { ask, query } = harness
harness.deps.mail.start()
const url = 'https://codehost.example/acme/app/blob/main/.env'

async function report(...tokens: string[]): Promise<void> {
  const entries = tokens.map(token => ({ token, type: 'key', url, source: 'content' }))
  assert.equal((await ask('POST', reportPath, signedReport(entries))).status, 200)
}
/** Waits until the mail that is due is sent. */
async function settled(): Promise<void> {
  const isEmpty = async () =>
    (await query('select from graphile_worker.jobs where run_at <= now()')).length === 0
  await until(isEmpty, 'the mail that is due is sent')
}
async function makeScene() {
  const vendor = await makeVendor(harness)
  const { workspaceId } = vendor
  const person = (role: 'owner' | 'admin' | 'member') => makePerson(query, { workspaceId, role })
  const [one, two] = [await person('owner'), await person('owner')]
  const removed = await person('owner')
  await query('update workspace_members set removed_at = service_now() where user_id = $1', [removed.userId])
  const billing = `billing-${workspaceId}@example.com`
  await makeBilling(query, workspaceId, billing)
  return { ...vendor, one, two, others: [await person('admin'), await person('member'), removed], billing }
}

test('only owners and the billing address get the mail about a leaked key', async () => {
  const scene = await makeScene()
  const { key, display_prefix } = await issueKey(harness, scene)
  await report(key)
  for (const to of [scene.one.email, scene.two.email, scene.billing]) {
    const { subject, text, html } = await mailbox.take(to)
    assert.equal(subject, 'An API key of Acme was found in public')
    const words = text.replaceAll(/\s+/g, ' ')
    assert.ok(words.includes(`begins with ${display_prefix} was reported`), text)
    assert.ok(words.includes(`It was found at ${url} (content)`), text)
    assert.ok(words.includes('Keyrail revoked it at once.'), text)
    assert.ok(!text.includes(key) && !html.includes(key))
  }
  await report(key)
  await settled()
  assert.deepEqual(await mailbox.all(), [])
})

test('an owner’s address that is also the billing address gets one mail', async () => {
  const scene = await makeScene()
  await makeBilling(query, scene.workspaceId, scene.one.email.toUpperCase())
  await report(scene.test)
  await mailbox.take(scene.one.email, /^A secret key of Acme/)
  await mailbox.take(scene.two.email, /^A secret key of Acme/)
  await settled()
  assert.deepEqual(await mailbox.all(), [])
})

test('the person of a leaked session and the owners get different mails', async () => {
  const scene = await makeScene()
  await report(scene.one.token)
  const own = await mailbox.take(scene.one.email)
  assert.equal(own.subject, 'Your session was found in public and has ended')
  assert.ok(own.text.replaceAll(/\s+/g, ' ').includes(`It was found at ${url}`), own.text)
  for (const to of [scene.two.email, scene.billing]) {
    const { subject, text } = await mailbox.take(to)
    assert.equal(subject, 'A session of Acme was found in public')
    assert.ok(text.includes(scene.one.token.slice(0, 10)) && !text.includes(scene.one.token))
  }
  const nowhere = await makePerson(query)
  await report(nowhere.token)
  await mailbox.take(nowhere.email, /Your session/)
  await settled()
  assert.deepEqual(await mailbox.all(), [])
})

test('leaks of several owners’ sessions in one report do not deadlock', async () => {
  const scene = await makeScene()
  const people = [scene.one, scene.two]
  for (let i = 0; i < 10; i++) {
    people.push(await makePerson(query, { workspaceId: scene.workspaceId, role: 'owner' }))
  }
  for (let turn = 0; turn < 3; turn++) {
    const opened = people.map(({ userId }) => openSession(query, userId, scene.workspaceId))
    await report(...(await Promise.all(opened)).map(({ token }) => token))
  }
  assert.match(await harness.deps.metrics.text(), /^keyrail_deadlocks_retried_total 0$/m)
  await settled()
  for (const { to } of await mailbox.all()) await mailbox.take(to)
  // What had no room, which would arrive in an hour.
  await query('delete from graphile_worker._private_jobs where run_at > now()')
})

test('beyond five mails in an hour, one gathers the leaks that follow, of keys and sessions', async () => {
  const scene = await makeScene()
  const tokens: string[] = []
  const ids: string[] = []
  for (let i = 0; i < 7; i++) {
    const { id, key } = await issueKey(harness, scene)
    tokens.push(key)
    ids.push(id)
  }
  for (const token of tokens) await report(token)
  const { sessionId, token } = await openSession(query, scene.others[0]?.userId ?? '', scene.workspaceId)
  await report(token)
  await mailbox.take(scene.others[0]?.email ?? '')
  await settled()
  const letters = await mailbox.all()
  for (const to of [scene.one.email, scene.two.email, scene.billing]) {
    assert.equal(letters.filter(letter => letter.to === to).length, 5)
    for (let i = 0; i < 5; i++) await mailbox.take(to)
  }
  const later = await query(
    `select run_at - now() > interval '59 minutes' as "isLater" from graphile_worker.jobs`,
  )
  assert.deepEqual(later, [{ isLater: true }, { isLater: true }, { isLater: true }])
  await query('update graphile_worker._private_jobs set run_at = now()')
  await settled()
  for (const to of [scene.one.email, scene.two.email, scene.billing]) {
    const { subject, text } = await mailbox.take(to)
    assert.equal(subject, '3 credentials of Acme were found in public')
    for (const id of [sessionId, ...ids.slice(5)]) assert.ok(text.includes(id), text)
    for (const id of ids.slice(0, 5)) assert.ok(!text.includes(id), text)
  }
  assert.deepEqual(await mailbox.all(), [])
  const [{ count }] = await query(
    `select count(*) from api_keys where workspace_id = $1 and revoked_reason = 'leaked'`,
    [scene.workspaceId],
  )
  assert.equal(count, 7)
})

test('a former owner gets no mail, even if it was already queued', async () => {
  const scene = await makeScene()
  await query(
    `create function leave_first() returns trigger language plpgsql as $$
     begin update workspace_members set removed_at = now() where user_id = '${scene.two.userId}'; return new; end $$`,
  )
  await query(
    'create trigger leave_first after insert on leak_reports for each row execute function leave_first()',
  )
  // The role that reports a leak cannot change members, so the trigger runs as the owner of the tables.
  await query('alter function leave_first() security definer')
  await report((await issueKey(harness, scene)).key)
  await query('drop trigger leave_first on leak_reports')
  await mailbox.take(scene.one.email)
  await mailbox.take(scene.billing)
  await settled()
  assert.deepEqual(await mailbox.all(), [])
})

test('the mail about a report without a url says that the place is unknown', async () => {
  const scene = await makeScene()
  const session = await openSession(query, scene.two.userId)
  const { key } = await issueKey(harness, scene)
  const entries = [{ token: key, source: 'commit' }, { token: session.token }]
  assert.equal((await ask('POST', reportPath, signedReport(entries))).status, 200)
  const { text } = await mailbox.take(scene.one.email)
  assert.ok(text.replaceAll(/\s+/g, ' ').includes('The report does not say where (commit).'), text)
  const own = await mailbox.take(scene.two.email, /Your session/)
  assert.ok(own.text.replaceAll(/\s+/g, ' ').includes('The report does not say where.'), own.text)
})

test('an owner with an unverified address gets an alarm without words that others chose', async () => {
  const { workspaceId, ...vendor } = await makeVendor(harness)
  await query('update workspaces set name = $2 where id = $1', [workspaceId, 'Claim your prize today'])
  const owner = await makePerson(query, { workspaceId, role: 'owner', verified: false })
  await report((await issueKey(harness, vendor)).key)
  const one = await mailbox.take(owner.email)
  assert.equal(one.subject, 'An API key of your workspace was found in public')
  await report(vendor.test, (await issueKey(harness, vendor)).key)
  const several = await mailbox.take(owner.email)
  await report(owner.token)
  const own = await mailbox.take(owner.email, /^Your session/)
  for (const { text, html } of [one, several, own]) {
    assert.doesNotMatch(text + html, /prize|codehost/)
    assert.match(text.replaceAll(/\s+/g, ' '), /The audit log says where it was found\./)
  }
})

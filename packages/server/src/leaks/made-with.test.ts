import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportPath, signedReport } from '../../test/codehost.ts'
import { startHarness } from '../../test/harness.ts'
import { makeMailbox } from '../../test/mailbox.ts'
import { makersOf } from '../../test/makers.ts'
import { addMember, makePerson } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'
import { faultsOf } from '../../test/whole.ts'

const mailbox = makeMailbox()
const harness = await startHarness({ mail: mailbox.settings })
const { ask, query } = harness
const { makeKey, invite, revoke, accept, isAlive, statusOf, makeScene } = makersOf(harness)
harness.deps.mail.start()
const url = 'https://codehost.example/acme/app/blob/main/.env'
const place = { url, source: 'content' }

async function report(token: string): Promise<void> {
  const answer = await ask('POST', reportPath, signedReport([{ token, type: 'key', ...place }]))
  assert.deepEqual([answer.status, answer.body[0].label], [200, 'true_positive'])
}
/** The audit rows of the code host, oldest first. */
async function leakRowsIn(token: string) {
  const { body } = await ask('GET', '/v1/audit_logs?limit=200', { token })
  const rows: { actor_type: string; action: string; target_id: string; payload: Record<string, unknown> }[] =
    body.data
  return rows
    .filter(({ actor_type }) => actor_type === 'codehost')
    .map(({ action, target_id, payload }) => {
      return [action, target_id, payload.reason, payload.ancestor]
    })
}
async function lettersSettled(): Promise<void> {
  const isEmpty = async () => (await query('select from graphile_worker._private_jobs')).length === 0
  await until(isEmpty, 'the mail queue is empty')
}
const wordsOf = ({ text }: { text: string }) => text.replaceAll(/\s+/g, ' ')

test('a leaked secret key ends everything that descends from it, listed in log and mail', async () => {
  const { owner, leaver, live, child, grandchild, workspaceId } = await makeScene()
  const pending = [await invite(child.key), await invite(grandchild.key)]
  const others = [await invite(owner.token), await invite(leaver.token)]
  const spared = await makeKey(leaver.token)
  await report(child.key)
  assert.deepEqual(
    [await isAlive(child), await isAlive(grandchild), await isAlive(spared)],
    [false, false, true],
  )
  const thief = await makePerson(query)
  for (const one of pending) assert.equal((await accept(thief, one)).body.code, 'invalid_token')
  for (const one of others) assert.equal(await statusOf(live, one), 'pending')
  const ancestor = { type: 'secret_key', id: child.id }
  const expected = [
    ['secret_key.revoked', child.id, 'leaked', undefined],
    ['secret_key.revoked', grandchild.id, 'cascade', ancestor],
    ...pending.map(({ id }) => ['workspace_invite.revoked', id, 'inviter_revoked', ancestor]),
  ]
  assert.deepEqual(await leakRowsIn(live), expected)
  for (const to of [owner.email, leaver.email])
    assert.match(
      wordsOf(await mailbox.take(to, /^A secret key of Acme/)),
      /1 secret key and 2 pending invitations made with it, directly or through keys made with it, were revoked as well\./,
    )

  await report(child.key)
  await lettersSettled()
  assert.deepEqual(await leakRowsIn(live), expected)
  const letters = (await mailbox.all()).filter(({ subject }) => subject.includes('in public'))
  assert.deepEqual(letters, [])
  assert.deepEqual(await faultsOf(query, workspaceId), [])
})

test('a leak of a revoked key ends what the key made, and sends one mail', async () => {
  const { live, owner, child, grandchild } = await makeScene()
  await revoke(live, child.id)
  assert.ok(await isAlive(grandchild))
  await report(child.key)
  assert.equal(await isAlive(grandchild), false)
  const expected = [['secret_key.revoked', grandchild.id, 'cascade', { type: 'secret_key', id: child.id }]]
  assert.deepEqual(await leakRowsIn(live), expected)
  const letter = wordsOf(await mailbox.take(owner.email, /in public/))
  assert.match(letter, /1 secret key made with it, directly or through keys made with it, was revoked/)
  await report(child.key)
  assert.deepEqual(await leakRowsIn(live), expected)
})

test('redelivering a leak that an old release handled ends what it left active', async () => {
  const { live, workspaceId, child, grandchild } = await makeScene()
  await revoke(live, child.id, { reason: 'leaked' })
  await query(
    `insert into leak_reports (workspace_id, credential_id, kind, display_prefix, reported_at)
     values ($1, $2, 'secret_key', 'krsk_live_abcd', service_now())`,
    [workspaceId, child.id],
  )
  await report(child.key)
  assert.equal(await isAlive(grandchild), false)
})

test('a leaked session ends what was made in it in every workspace, and nothing else', async () => {
  const [here, there] = [await makeVendor(harness), await makeVendor(harness)]
  const owner = await makePerson(query, { workspaceId: here.workspaceId, role: 'owner' })
  const thief = await makePerson(query, { workspaceId: here.workspaceId, role: 'owner' })
  await addMember(query, there.workspaceId, thief.userId, 'owner')
  // In another session of the same person.
  const elsewhere = await ask('POST', '/v1/auth/sessions', {
    body: { email: thief.email, password: 'correct horse battery staple', workspace_id: here.workspaceId },
  })
  const spared = await makeKey(elsewhere.body.token)
  const made = await makeKey(thief.token)
  const below = await makeKey(made.key)
  const pending = [await invite(thief.token), await invite(below.key)]
  const moved = await ask('POST', '/v1/auth/sessions/current/workspace', {
    token: thief.token,
    body: { workspace_id: there.workspaceId },
  })
  assert.equal(moved.status, 200)
  const away = await makeKey(thief.token)
  await report(thief.token)
  const alive = await Promise.all([spared, made, below, away].map(isAlive))
  assert.deepEqual(alive, [true, false, false, false])
  for (const one of pending) assert.equal(await statusOf(here.live, one), 'revoked')

  const ancestor = { type: 'session', id: thief.sessionId }
  assert.deepEqual(await leakRowsIn(there.live), [
    ['session.revoked', thief.sessionId, 'leaked', undefined],
    ['secret_key.revoked', away.id, 'cascade', ancestor],
  ])
  assert.deepEqual(await leakRowsIn(here.live), [
    ['secret_key.revoked', made.id, 'cascade', ancestor],
    ['secret_key.revoked', below.id, 'cascade', ancestor],
    ...pending.map(({ id }) => ['workspace_invite.revoked', id, 'inviter_revoked', ancestor]),
  ])
  // The letter is sent before everything made in the session has ended, or after.
  assert.match(
    wordsOf(await mailbox.take(owner.email, /in public/)),
    /2 secret keys and 2 pending invitations|What was made with it, .* is being revoked as well/,
  )
  const before = [await leakRowsIn(here.live), await leakRowsIn(there.live)]
  await report(thief.token)
  assert.deepEqual([await leakRowsIn(here.live), await leakRowsIn(there.live)], before)
  for (const { workspaceId } of [here, there]) assert.deepEqual(await faultsOf(query, workspaceId), [])
})

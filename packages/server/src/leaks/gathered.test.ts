import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeBilling } from '../../test/billing.ts'
import { reportPath, signedReport } from '../../test/codehost.ts'
import { startHarness } from '../../test/harness.ts'
import { makeMailbox } from '../../test/mailbox.ts'
import { makePerson } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeVendor, type Vendor } from '../../test/vendor.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { namedMax } from './letters.ts'
import { queueLeftLetters } from './upkeep.ts'

const mailbox = makeMailbox()
const harness = await startHarness({ mail: mailbox.settings })
const { ask, query } = harness
harness.deps.mail.start()
const urlOf = (i: number) => `https://codehost.example/acme/app/${i}`

async function report(...tokens: string[]): Promise<void> {
  const entries = tokens.map((token, i) => ({ token, type: 'key', url: urlOf(i), source: 'content' }))
  assert.equal((await ask('POST', reportPath, signedReport(entries))).status, 200)
}
/** Takes every letter, once the queue is empty. */
async function takeAll() {
  const isEmpty = async () => (await query('select from graphile_worker._private_jobs')).length === 0
  await until(isEmpty, 'the mail queue is empty')
  const letters = await mailbox.all()
  for (const { to } of letters) await mailbox.take(to)
  return letters
}
const auditedIn = async ({ workspaceId }: Vendor): Promise<number> =>
  (await query(`select from audit_logs where workspace_id = $1 and actor_type = 'codehost'`, [workspaceId]))
    .length
async function makeScene() {
  const vendor = await makeVendor(harness)
  const { workspaceId } = vendor
  const one = await makePerson(query, { workspaceId, role: 'owner' })
  const two = await makePerson(query, { workspaceId, role: 'owner' })
  const billing = `billing-${workspaceId}@example.com`
  await makeBilling(query, vendor.workspaceId, billing)
  return { ...vendor, to: [one.email, two.email, billing].toSorted() }
}
const addressesOf = (letters: readonly { to: string }[]) => letters.map(({ to }) => to).toSorted()
const wordsOf = ({ text }: { text: string }) => text.replaceAll(/\s+/g, ' ')
const upkeep = () => doChores(harness.connection, [queueLeftLetters], harness.deps.log)

test('one letter a recipient names all keys of a report, and a second delivery sends none', async () => {
  const scene = await makeScene()
  const stranger = await makeScene()
  const keys = [
    await issueKey(harness, scene),
    await issueKey(harness, scene),
    await issueKey(harness, scene),
  ]
  const foreign = await issueKey(harness, stranger)
  const tokens = [...keys.map(({ key }) => key), foreign.key]
  await report(...tokens)
  const letters = await takeAll()
  assert.deepEqual(addressesOf(letters), [...scene.to, ...stranger.to].toSorted())
  for (const letter of letters) {
    const isOwn = scene.to.includes(letter.to)
    assert.equal(
      letter.subject,
      isOwn ? '3 API keys of Acme were found in public' : 'An API key of Acme was found in public',
    )
    for (const [i, { id, display_prefix }] of keys.entries()) {
      const named = `API key ${id}, which begins with ${display_prefix}: It was found at ${urlOf(i)} (content)`
      assert.equal(wordsOf(letter).includes(named), isOwn, letter.text)
    }
    for (const token of tokens) assert.ok(!letter.text.includes(token) && !letter.html.includes(token))
  }
  assert.equal(await auditedIn(scene), 3)
  await report(...tokens)
  await upkeep()
  assert.deepEqual(await takeAll(), [])
  assert.equal(await auditedIn(scene), 3)
  assert.deepEqual(await query('select from leak_letters'), [])
})

test('keys that a later delivery revokes get a letter, which names no key of the first', async () => {
  const scene = await makeScene()
  const first = await issueKey(harness, scene)
  const second = await issueKey(harness, scene)
  const third = await issueKey(harness, scene)
  await report(first.key)
  await takeAll()
  await report(first.key, second.key, third.key)
  const letters = await takeAll()
  assert.deepEqual(addressesOf(letters), scene.to)
  for (const letter of letters) {
    assert.match(letter.subject, /^2 API keys/)
    assert.deepEqual(
      [first, second, third].map(({ id }) => letter.text.includes(id)),
      [false, true, true],
    )
  }
})

test('a letter that its process did not queue is queued once, by upkeep', async () => {
  const scene = await makeScene()
  const tokens = [(await issueKey(harness, scene)).key, (await issueKey(harness, scene)).key]
  await query(
    `create function refuse_letter() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`,
  )
  await query('create trigger refuse_letter before delete on leak_letters execute function refuse_letter()')
  await report(...tokens)
  await query('drop trigger refuse_letter on leak_letters')
  assert.equal(await auditedIn(scene), 2)
  // The report could still be under way.
  await upkeep()
  assert.deepEqual(await takeAll(), [])
  await report(...tokens)
  assert.deepEqual(await takeAll(), [])
  await query(`update leak_letters set noted_at = noted_at - interval '61 seconds'`)
  await upkeep()
  const letters = await takeAll()
  assert.deepEqual(addressesOf(letters), scene.to)
  for (const { subject } of letters) assert.match(subject, /^2 API keys/)
  await upkeep()
  await report(...tokens)
  assert.deepEqual(await takeAll(), [])
})

test('a letter about both kinds names secret keys first, at most fifty keys, and counts all', async () => {
  const scene = await makeScene()
  const tokens: string[] = []
  for (let i = 0; i < namedMax; i++) tokens.push((await issueKey(harness, scene)).key)
  await report(...tokens, scene.test)
  const [letter, ...others] = await takeAll()
  assert.ok(letter)
  assert.equal(others.length, 2)
  assert.equal(letter.subject, `${namedMax + 1} keys of Acme were found in public`)
  const words = wordsOf(letter)
  assert.equal(words.split(', which begins with ').length - 1, namedMax)
  assert.ok(words.includes(`Secret key ${scene.testId}, which begins with`), words)
  assert.ok(words.includes('The audit log lists the other 1.'), words)
  assert.ok(words.includes('Every request with a revoked secret key is now rejected.'), words)
  assert.ok(words.includes('Issue new keys to the tenants'), words)
})

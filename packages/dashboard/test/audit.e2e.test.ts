import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Download, Page } from 'playwright-core'
import type { Watch } from '../../server/src/audit/verify-run.ts'
import type { Harness } from '../../server/test/harness.ts'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { differencesOf, lineDifference } from '../src/screens/audit/differences.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { query, ask } = stage.harness
const acme = await makeVendor(stage.harness)
const { workspaceId, live, tenantId } = acme
const ann = await makePerson(query, { workspaceId, role: 'member', name: 'Ann', email: 'ann@example.com' })
const owner = await makePerson(query, { workspaceId, role: 'owner', name: 'Olga', email: 'olga@example.com' })

const change = (path: string, body: object, token = live) => ask('PATCH', path, { token, body })
const rowsOf = (page: Page) => page.locator('section[aria-label="Audit log"] button[aria-expanded]')
const pressed = async (page: Page, name: string): Promise<Download> => {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name, exact: true }).click(),
  ])
  return file
}
/** Holds the next verification, and says how far it is in its place: the logs of a test are short. */
function holdVerification({ deps: { auditHeads } }: Harness, rows: number) {
  const { verifyChain } = auditHeads
  const begun = Promise.withResolvers<Watch>()
  const released = Promise.withResolvers<void>()
  auditHeads.verifyChain = async (workspaceId, watch = () => {}) => {
    auditHeads.verifyChain = verifyChain
    begun.resolve(watch)
    await released.promise
    return await verifyChain(workspaceId)
  }
  return {
    tell: async (checked: number) => (await begun.promise)({ checked, rows }),
    release: () => released.resolve(),
  }
}
const textOf = async (file: Download) => readFileSync(await file.path(), 'utf8')

test('a person opens a row to what changed, and narrows the log to its actor and target', async () => {
  await change('/v1/workspace', { name: 'Acme Two', billing_email: 'bills@example.com' }, owner.token)
  const visit = await stage.visit('/app/audit-log', { as: ann })
  const { page } = visit
  await rowsOf(page).first().waitFor()
  assert.equal(await rowsOf(page).first().textContent(), 'Workspace changed')
  await visit.look('audit-log')
  await page.getByRole('button', { name: 'Workspace changed' }).click()
  const payload = page.getByRole('region', { name: /^What changed in row/ })
  assert.deepEqual(await payload.locator('del').allInnerTexts(), ['null', '"Acme"'])
  assert.deepEqual(await payload.locator('ins').allInnerTexts(), ['"bills@example.com"', '"Acme Two"'])
  assert.doesNotMatch((await payload.textContent()) ?? '', /hash|salt/)
  await visit.look('audit-row')
  await visit.press('Only this actor')
  await page.waitForURL(`**/app/audit-log?actor_id=${owner.userId}`)
  await rowsOf(page).nth(1).waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('combobox', { name: 'Actor' }).inputValue(), 'Olga')
  await visit.press('Clear Actor')
  await page.getByLabel('Action').selectOption('Tenant created')
  await page.getByRole('button', { name: 'Tenant created' }).waitFor()
  await visit.fill('Target id', tenantId)
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/app/audit-log?action=tenant.created&target_id=${tenantId}`)
  await page.reload()
  await page.getByRole('button', { name: 'Tenant created' }).click()
  assert.equal(await page.getByLabel('Target id', { exact: true }).inputValue(), tenantId)
  await page.getByRole('link', { name: 'Open the tenant' }).click()
  await page.waitForURL(`**/app/tenants/${tenantId}`)
  await visit.leave()
})

test('a person finds what a colleague did by their name', async () => {
  const of = await makeVendor(stage.harness)
  const member = { workspaceId: of.workspaceId, role: 'admin' } as const
  const zoe = await makePerson(query, { ...member, name: 'Zoe', email: 'zoe@example.com' })
  const twins = [1, 2].map(at => ({ ...member, name: 'Max', email: `max-${at}@example.com` }))
  const [max] = [await makePerson(query, twins[0]), await makePerson(query, twins[1])]
  for (const { token, by } of [
    { token: zoe.token, by: 'By Zoe' },
    { token: max.token, by: 'By Max' },
  ])
    await ask('POST', '/v1/tenants', { token, body: { external_id: by, name: by } })
  const visit = await stage.visit('/app/audit-log', { as: zoe })
  const { page } = visit
  const actor = page.getByRole('combobox', { name: 'Actor' })
  await actor.fill('zo')
  await page.getByRole('option', { name: 'Zoe' }).click()
  await page.waitForURL(`**/app/audit-log?actor_id=${zoe.userId}`)
  await page.getByTitle('Tenant By Zoe').waitFor()
  await page.getByTitle('Tenant By Max').waitFor({ state: 'detached' })
  assert.equal(await actor.inputValue(), 'Zoe')
  // Two have this name, so their addresses name them.
  await actor.fill('max')
  await page.getByRole('option', { name: 'max-2@example.com' }).waitFor()
  await visit.look('audit-actor')
  await actor.fill('max-1@example.com')
  await page.keyboard.press('Enter')
  await page.getByTitle('Tenant By Max').waitFor()
  await page.waitForURL(`**/app/audit-log?actor_id=${max.userId}`)
  await visit.leave()
})

test('the log follows the environment of the page, and says when nothing matches', async () => {
  const of = await makeVendor(stage.harness)
  const person = await makePerson(query, { workspaceId: of.workspaceId, name: 'Bea' })
  await issueKey(stage.harness, of, { env: 'test', name: 'trial' })
  await issueKey(stage.harness, of, { env: 'live', name: 'shop' })
  const visit = await stage.visit('/app/audit-log', { as: person })
  const { page } = visit
  await page.getByTitle('Key trial').waitFor()
  await page.getByRole('radiogroup', { name: 'Environment' }).getByText('Test', { exact: true }).click()
  await page.getByTitle('Key shop').waitFor({ state: 'detached' })
  await page.getByTitle('Key trial').waitFor()
  assert.equal(await page.getByRole('combobox', { name: 'Environment' }).inputValue(), 'test')
  await page.getByRole('combobox', { name: 'Environment' }).selectOption('Live')
  await page.getByTitle('Key shop').waitFor()
  await page.getByTitle('Key trial').waitFor({ state: 'detached' })
  assert.match(page.url(), /audit-log\?rows=live$/)
  const actor = page.getByRole('combobox', { name: 'Actor' })
  await actor.fill('not an id')
  await page.keyboard.press('Enter')
  await visit.text('Choose a person or a secret key, or enter a whole id.')
  await actor.fill('stranger')
  await page.keyboard.press('Enter')
  await visit.text('Nothing matches these filters.')
  await visit.look('audit-no-match')
  await visit.press('Clear filters')
  await page.getByTitle('Key trial').waitFor()
  assert.match(page.url(), /audit-log$/)
  await visit.leave()
})

test('the log goes on as the person reads, and its export holds every row', async () => {
  const of = await makeVendor(stage.harness)
  const person = await makePerson(query, { workspaceId: of.workspaceId, name: 'Cyd' })
  for (let at = 0; at < 60; at++) await change(`/v1/tenants/${of.tenantId}`, { name: `Name ${at}` }, of.live)
  const [{ seq }] = await query('select seq::int from audit_heads where workspace_id = $1', [of.workspaceId])
  const visit = await stage.visit('/app/audit-log', { as: person })
  const { page } = visit
  await rowsOf(page).nth(49).scrollIntoViewIfNeeded()
  await page.keyboard.press('End')
  await rowsOf(page)
    .nth(seq - 1)
    .waitFor()
  await page.getByRole('button', { name: 'Load more' }).waitFor({ state: 'detached' })
  const lines = (await textOf(await pressed(page, 'Export'))).trimEnd().split('\n')
  assert.deepEqual(
    lines.map(line => JSON.parse(line).seq),
    Array.from({ length: seq }, (_, at) => at + 1),
  )
  await visit.text(`${seq} rows are in audit-`)
  await visit.leave()
})

/** The page gets two lines of an export, and the rest when the test calls `goOn`. */
const holdExport = `
  const send = window.fetch
  const held = new Promise(resolve => { window.goOn = resolve })
  window.fetch = async (path, given) => {
    const answer = await send(path, given)
    if (!String(path).includes('/export')) return answer
    const text = await answer.text()
    const second = text.indexOf('\\n', text.indexOf('\\n') + 1) + 1
    const parts = [text.slice(0, second), text.slice(second)].map(part => new TextEncoder().encode(part))
    return new Response(new ReadableStream({
      async start(stream) {
        stream.enqueue(parts[0])
        await held
        stream.enqueue(parts[1])
        stream.close()
      },
    }))
  }`

test('an export says how many rows it has, and leaves the rest of the page alone', async () => {
  const of = await makeVendor(stage.harness)
  const person = await makePerson(query, { workspaceId: of.workspaceId, name: 'Eve' })
  const visit = await stage.visit('/app/sign-in', { as: person })
  const { page } = visit
  await page.addInitScript(holdExport)
  await page.goto('/app/audit-log')
  await rowsOf(page).first().waitFor()
  const saved = page.waitForEvent('download')
  await visit.press('Export')
  await visit.text('Exporting: 2 rows so far…')
  assert.ok(await page.getByRole('button', { name: 'Verify chain' }).isDisabled())
  await rowsOf(page).first().click()
  await page.getByRole('region', { name: /^What changed in row/ }).waitFor()
  await visit.look('audit-exporting')
  await page.evaluate('goOn()')
  const rows = (await textOf(await saved)).trimEnd().split('\n')
  await visit.text(`${rows.length} rows are in audit-`)
  await visit.leave()
})

test('a person verifies the chain, keeps its checkpoint, and reads where it breaks', async () => {
  const of = await makeVendor(stage.harness)
  const person = await makePerson(query, { workspaceId: of.workspaceId, name: 'Dan' })
  const visit = await stage.visit('/app/audit-log', { as: person })
  const { page } = visit
  const [{ seq, hash }] = await query(
    `select seq::int, encode(hash, 'hex') as hash from audit_heads where workspace_id = $1`,
    [of.workspaceId],
  )
  // The run is held until the page has shown how far it is. This takes the place of the service, which has few rows.
  const held = holdVerification(stage.harness, seq)
  await visit.press('Verify chain')
  await visit.text('Verifying the chain…')
  await held.tell(0)
  await visit.text(`Verifying: 0 of ${seq} rows…`)
  await held.tell(2)
  await visit.text(`Verifying: 2 of ${seq} rows…`)
  assert.deepEqual(
    await page
      .getByRole('progressbar', { name: 'Progress' })
      .evaluate(bar => 'value' in bar && 'max' in bar && [bar.value, bar.max]),
    [2, seq],
  )
  await visit.look('audit-verifying')
  held.release()
  await visit.text(`${seq} rows hold, head ${hash}`)
  await visit.look('audit-verified')
  const note = await textOf(await pressed(page, 'Download checkpoint'))
  assert.match(note, new RegExp(`/audit/${of.workspaceId}\n${seq}\n`))
  await query(`update audit_logs set payload = '{"x":1}' where workspace_id = $1 and seq = 3`, [
    of.workspaceId,
  ])
  await visit.press('Verify chain')
  await visit.text('The chain breaks at position 3 (hash_mismatch).')
  await visit.text('The 2 rows before it hold.')
  await visit.look('audit-broken')
  await page.context().setOffline(true)
  await visit.press('Verify chain')
  await visit.text('Keyrail cannot be reached.')
  await page.context().setOffline(false)
  await visit.press('Try again')
  await visit.text('The chain breaks at position 3')
  await visit.leave()
})

test('a difference of lines has both texts, and an address shows without its hash', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 })
  fc.assert(
    fc.property(lines, lines, (old, next) => {
      const made = lineDifference(old, next)
      const without = (sign: string) => made.filter(line => line.sign !== sign).map(({ text }) => text)
      assert.deepEqual([without('+'), without('-')], [old, next])
    }),
  )
  const email = { email_hash: 'ab', email_salt: 'cd' }
  assert.deepEqual(
    differencesOf({ action: 'workspace_member.removed', payload: { email: 'a@b.example', ...email } }),
    [{ field: 'email', lines: [{ sign: ' ', text: '"a@b.example"' }] }],
  )
  assert.deepEqual(differencesOf({ action: 'workspace_member.removed', payload: { email_hash: 'ab' } }), [
    { field: 'email', lines: [{ sign: ' ', text: 'erased' }] },
  ])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerWith } from './answer-with.ts'
import { begin, isMade, submit } from './filled-form.ts'
import { openStage, type Visit } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()

/** Keeps the answers of a call back until the test lets them go. */
async function hold({ page }: Visit, path: string): Promise<() => void> {
  const answer = Promise.withResolvers<void>()
  await page.route(`${stage.url}/v1/embed${path}`, async route => {
    if (route.request().method() === 'POST') await answer.promise
    await route.fallback()
  })
  return answer.resolve
}

/** What a person tries who does not want to wait. */
async function tryToLeave({ page }: Visit): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click({ force: true })
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('Escape')
}

test('a dialog stays until its change is answered, so that no late answer meets another dialog', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  const { page } = visit
  await visit.button('Revoke Build server').click()
  const release = await hold(visit, '/keys/*/revoke')
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Revoke Build server' })
  await confirm.click()
  await tryToLeave(visit)
  await page.getByRole('dialog', { name: 'Revoke “Build server”?' }).waitFor()
  assert.equal(await page.getByRole('dialog').count(), 1)
  release()
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  const releaseKey = await hold(visit, '/keys')
  await begin(visit)
  await submit(visit)
  await tryToLeave(visit)
  await page.getByRole('dialog', { name: 'Create key' }).waitFor()
  releaseKey()
  await isMade(visit)
  assert.deepEqual(await visit.eventNames(), ['revoked', 'created'])
  await visit.leave()
})

test('a change that fails after the person wanted to leave says so, and can then be left', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  const { page } = visit
  await visit.button('Revoke Build server').click()
  await answerWith(
    stage,
    visit,
    { method: 'POST', path: '/keys/*/revoke' },
    { status: 500, code: 'internal_error' },
  )
  const release = await hold(visit, '/keys/*/revoke')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke Build server' }).click()
  await tryToLeave(visit)
  release()
  await page.getByRole('alert').getByText('That did not work').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await visit.leave()
})

test('the status says that a key is revoked for each key', async () => {
  const vendor = await stage.makeVendor()
  for (const name of ['First', 'Second']) await makeKey(stage, vendor, name)
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  const { page } = visit
  const status = () => page.locator('[role=status].unseen').textContent()
  for (const name of ['First', 'Second']) {
    await visit.button(`Revoke ${name}`).click()
    assert.equal(await status(), '')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Revoke ${name}` })
      .click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(await status(), 'The key is revoked.')
  }
  await visit.leave()
})

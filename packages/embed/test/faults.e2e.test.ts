import assert from 'node:assert/strict'
import { test } from 'node:test'
import { begin, isMade, submit } from './filled-form.ts'
import { openStage, tokenOf } from './stage.ts'

const stage = await openStage()
const { ask } = stage.harness

test('what the service does not accept stands at its field, until the field changes', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const { page } = visit
  await begin(visit)
  const name = page.getByLabel('Name')
  const scope = page.getByLabel('refunds')
  const refused = page.getByText('This is not accepted.', { exact: true })
  const marks = async (field: typeof name) => [
    await field.getAttribute('aria-invalid'),
    await field.getAttribute('aria-describedby'),
  ]
  assert.deepEqual(await marks(name), [null, null])
  // No key of a keyboard types the first; a program that fills forms may. The service knows the rule for names, the widget does not.
  for (const text of ['Build\\0server', 'Build\\u202eserver', '\\u200b']) {
    await page.evaluate(`(() => {
      const field = document.querySelector('keyrail-keys').shadowRoot.querySelector('dialog input')
      field.value = '${text}'
      field.dispatchEvent(new Event('input', { bubbles: true, composed: true }))
    })()`)
    await refused.waitFor({ state: 'detached' })
    await submit(visit)
    await refused.waitFor()
    assert.deepEqual(await marks(name), ['true', await refused.getAttribute('id')])
    assert.deepEqual(await marks(scope), [null, null])
    assert.equal(await page.getByText('That did not work').count(), 0)
  }
  await visit.look('fault')
  await name.fill('Build server')
  await refused.waitFor({ state: 'detached' })
  assert.deepEqual(await marks(name), [null, null])

  // The project has become strict meanwhile.
  const { status } = await ask('PATCH', `/v1/projects/${vendor.projectId}`, {
    token: vendor.live,
    body: { known_scopes: ['charges:read'], strict_scopes: true },
  })
  assert.equal(status, 200)
  await submit(visit)
  await refused.waitFor()
  assert.deepEqual(await marks(scope), ['true', await refused.getAttribute('id')])
  assert.deepEqual(await marks(name), [null, null])
  await scope.uncheck()
  await submit(visit)
  await isMade(visit)
  await visit.leave()
})

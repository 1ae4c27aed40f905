import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setOrigins } from '../../server/test/embed.ts'
import type { Vendor } from '../../server/test/vendor.ts'
import { answerWith } from './answer-with.ts'
import { assertKept, begin, isMade, submit } from './filled-form.ts'
import { openStage, type Visit } from './stage.ts'
import { endTokens, makeKey, openTokenRoute, type TokenRoute } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness

/** What a person does in one dialog. Each is opened for a key with the name `Build server`. */
interface Change {
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  open(visit: Visit): Promise<void>
  /** What was typed or chosen is there. */
  assertKept(visit: Visit): Promise<void>
  send(visit: Visit): Promise<void>
  done(visit: Visit): Promise<void>
}

const inDialog = ({ page }: Visit, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true })
const overlap = ({ page }: Visit) => page.getByLabel('The old key still works for')

const changes: Readonly<Record<string, Change>> = {
  'Create key': {
    method: 'POST',
    path: '/keys',
    open: begin,
    assertKept: ({ page }) => assertKept(page),
    send: submit,
    done: isMade,
  },
  Edit: {
    method: 'PATCH',
    path: '/keys/*',
    async open(visit) {
      await visit.button('Edit Build server').click()
      await visit.page.getByLabel('Name').fill('Typed by hand')
      await visit.page.getByLabel('Expires on').fill('2090-01-31')
    },
    async assertKept({ page }) {
      assert.equal(await page.getByLabel('Name').inputValue(), 'Typed by hand')
      assert.equal(await page.getByLabel('Expires on').inputValue(), '2090-01-31')
    },
    send: visit => inDialog(visit, 'Save').click(),
    async done(visit) {
      await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
      await visit.text('Typed by hand')
    },
  },
  Rotate: {
    method: 'POST',
    path: '/keys/*/rotate',
    async open(visit) {
      await visit.button('Rotate Build server').click()
      await overlap(visit).selectOption('7 days')
    },
    assertKept: async visit => assert.equal(await overlap(visit).inputValue(), '168'),
    send: visit => inDialog(visit, 'Rotate').click(),
    done: isMade,
  },
  Revoke: {
    method: 'POST',
    path: '/keys/*/revoke',
    open: visit => visit.button('Revoke Build server').click(),
    assertKept: ({ page }) => page.getByRole('dialog', { name: 'Revoke “Build server”?' }).waitFor(),
    send: visit => inDialog(visit, 'Revoke Build server').click(),
    done: visit => visit.text('No keys yet'),
  },
}

/** Something that goes wrong while a dialog is open, and what the person reads. */
interface Failure {
  readonly texts: readonly string[]
  /** Begins it; the answer ends it. */
  begin(places: Places): Promise<() => unknown>
}
interface Places {
  readonly visit: Visit
  readonly vendor: Vendor
  readonly route: TokenRoute
  readonly method: string
  readonly path: string
}

const answered = (
  status: number,
  code: string,
  texts: readonly string[],
  headers: Record<string, string> = {},
): Failure => ({
  texts,
  async begin({ visit, method, path }) {
    await answerWith(stage, visit, { method, path }, { status, code, headers })
    return () => {}
  },
})

const failures: Readonly<Record<string, Failure>> = {
  'the token is refused and the person is signed out': {
    texts: ['Your session has ended'],
    async begin({ vendor, route }) {
      await endTokens(stage, vendor)
      route.vendor = null
      return () => {
        route.vendor = vendor
      }
    },
  },
  'the origin is taken away': {
    texts: ['Keys cannot be shown on this page'],
    async begin({ vendor }) {
      await setOrigins(stage.harness, vendor, ['https://a.example'])
      return () => setOrigins(stage.harness, vendor, [stage.site])
    },
  },
  'the network is gone': {
    texts: ['You are offline'],
    async begin({ visit }) {
      const context = visit.page.context()
      await context.setOffline(true)
      return () => context.setOffline(false)
    },
  },
  'the answer is 429': answered(429, 'too_many_requests', ['Too many requests at once', 'Wait 7 seconds.'], {
    'retry-after': '7',
  }),
  'the answer is 503': answered(503, 'unavailable', ['The service is not available now']),
  'the answer is 500': answered(500, 'internal_error', [
    'That did not work',
    'The answer was lost. Look in the list first.',
    'Reference: req_of_the_test',
  ]),
  'the answer is 403': answered(403, 'insufficient_scope', ['You may no longer do this.']),
  'the tenant has all its keys': answered(409, 'key_limit_reached', [
    'You have as many keys as you may have. Revoke one first.',
  ]),
}

for (const [name, change] of Object.entries(changes))
  test(`${name} says what went wrong, whatever it is, keeps what was chosen, and works afterwards`, async () => {
    const vendor = await stage.makeVendor()
    await makeKey(stage, vendor, 'Build server')
    const route = openTokenRoute(stage, vendor)
    const visit = await stage.visit({
      token: route.token,
      mayFail: /token\/first|ERR_INTERNET|Failed to load resource|CORS policy|keyrail-keys/,
    })
    await change.open(visit)
    for (const [what, { texts, begin }] of Object.entries(failures)) {
      const end = await begin({ visit, vendor, route, method: change.method, path: change.path })
      await change.send(visit)
      const dialog = visit.page.getByRole('dialog')
      for (const text of texts) await dialog.getByRole('alert').getByText(text, { exact: true }).waitFor()
      assert.equal(await dialog.getByRole('alert').count(), 1, what)
      await change.assertKept(visit)
      await end()
    }
    await change.send(visit)
    await change.done(visit)
    await visit.leave()
  })

test('a dialog is not closed by a list that changes behind it, and its change is made', async () => {
  const vendor = await stage.makeVendor()
  const key = await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  await visit.text('Build server')
  await begin(visit)
  await makeKey(stage, vendor, 'From elsewhere')
  await ask('POST', `/v1/keys/${key.id}/revoke`, { token: vendor.live })
  await visit.page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  const heading = (name: string) =>
    visit.page.getByRole('heading', { name, exact: true, includeHidden: true })
  await heading('From elsewhere').waitFor()
  assert.equal(await heading('Build server').count(), 0)
  await assertKept(visit.page)
  await submit(visit)
  await isMade(visit)
  await visit.leave()
})

test('a key that was revoked elsewhere is revoked once more without a fault', async () => {
  const vendor = await stage.makeVendor()
  const key = await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  await visit.button('Revoke Build server').click()
  await ask('POST', `/v1/keys/${key.id}/revoke`, { token: vendor.live })
  await inDialog(visit, 'Revoke Build server').click()
  await visit.text('No keys yet')
  assert.deepEqual(await visit.eventNames(), ['revoked'])
  await visit.leave()
})

test('a key that was replaced elsewhere without an overlap has ended, and its dialog says so', async () => {
  const vendor = await stage.makeVendor()
  const key = await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  await visit.button('Rotate Build server').click()
  await ask('POST', `/v1/keys/${key.id}/rotate`, { token: vendor.live, body: { overlap_hours: 0 } })
  await inDialog(visit, 'Rotate').click()
  await visit.text('This key no longer works.')
  const { body } = await ask('GET', '/v1/keys', { token: vendor.live })
  assert.equal(body.data.length, 2)
  await visit.leave()
})

test('a scope that a newer token no longer gives goes from an open form, and the rest stays', async () => {
  const vendor = await stage.makeVendor()
  const more = { scopes: ['keys:read', 'keys:write', 'key_scope:charges:read', 'key_scope:refunds'] }
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor, more).token })
  await begin(visit)
  await visit.page.getByLabel('charges:read').check()
  more.scopes.pop()
  await visit.page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.page.getByLabel('refunds').waitFor({ state: 'detached' })
  assert.equal(await visit.page.getByLabel('Name').inputValue(), 'Typed by hand')
  assert.ok(await visit.page.getByLabel('charges:read').isChecked())
  await submit(visit)
  await isMade(visit)
  const { body } = await ask('GET', '/v1/keys', { token: vendor.live })
  assert.deepEqual(body.data[0].scopes, ['charges:read'])
  await visit.leave()
})

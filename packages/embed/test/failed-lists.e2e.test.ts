import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerWith } from './answer-with.ts'
import { openStage, type Visit } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()

/** Puts a new element into the page, where none or another one was. */
const addElement = ({ page }: Visit) =>
  page.evaluate(`(() => {
    const element = document.createElement('keyrail-keys')
    element.baseUrl = ${JSON.stringify(stage.url)}
    element.getToken = () => getToken('first')
    document.querySelector('p').replaceChildren(element)
  })()`)

const reference = ['That did not work', 'Reference: req_of_the_test']
// Longer than any test, so that nothing is tried again by itself.
const wait = { 'retry-after': '3600' }
const answers = [
  { status: 429, code: 'too_many_requests', headers: wait, texts: ['Too many requests at once', /^Wait /] },
  { status: 503, code: 'unavailable', headers: wait, texts: ['The service is not available now', /^Wait /] },
  { status: 500, code: 'internal_error', texts: reference },
  { status: 403, code: 'insufficient_scope', texts: reference },
] as const

for (const path of ['/session', '/keys?*'])
  test(`a first load that fails at ${path} says why, and Try again shows the keys`, async () => {
    const vendor = await stage.makeVendor()
    await makeKey(stage, vendor, 'Build server')
    const visit = await stage.visit({
      token: openTokenRoute(stage, vendor).token,
      body: '<p></p>',
      script: '',
    })
    for (const { texts, ...answer } of answers) {
      const calls = await answerWith(stage, visit, { method: 'GET', path }, answer)
      await addElement(visit)
      for (const text of texts) await visit.text(text)
      assert.equal(await visit.page.getByText('Loading keys').count(), 0)
      await visit.button('Try again').click()
      await visit.text('Build server')
      assert.equal(await visit.page.getByRole('alert').count(), 0)
      assert.equal(calls.asked, 2)
    }
    assert.deepEqual(await visit.eventNames(), Array(answers.length).fill('error'))
    await visit.leave()
  })

test('a key whose use cannot be had is listed all the same, without a word about it', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token, body: '<p></p>', script: '' })
  const usage = { method: 'GET', path: '/keys/*/usage*' }
  await answerWith(stage, visit, usage, { status: 503, code: 'unavailable' })
  const answered = visit.page.waitForResponse(/\/usage/)
  await addElement(visit)
  await answered
  await visit.button('Rotate Build server').waitFor()
  assert.equal(await visit.page.locator('svg').count(), 0)
  assert.equal(await visit.page.getByRole('alert').count(), 0)
  assert.deepEqual(await visit.eventNames(), [])
  await visit.leave()
})

test('from the held token to the rows are two requests, and none of them waits for use', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor).token,
    script: `
      globalThis.held = await getToken('first')
      document.querySelector('keyrail-keys').getToken = async () => held`,
  })
  await visit.text('Build server')
  const asked: string[] = []
  visit.page.on('request', request => {
    if (request.method() !== 'OPTIONS') asked.push(new URL(request.url()).pathname)
  })
  // No answer about use comes.
  await visit.page.route(`${stage.url}/v1/embed/keys/*/usage*`, () => {})
  await visit.page.evaluate(`(() => {
    const element = document.querySelector('keyrail-keys')
    element.getToken = null
    element.getToken = async () => held
  })()`)
  await visit.button('Rotate Build server').waitFor()
  const toRows = asked.filter(path => !path.endsWith('/usage'))
  assert.deepEqual(toRows, ['/v1/embed/session', '/v1/embed/keys'])
  await visit.leave()
})

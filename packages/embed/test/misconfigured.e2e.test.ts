import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bundlePage } from './bundle-page.ts'
import { openStage, tokenOf, type Visit, type VisitOptions } from './stage.ts'

const stage = await openStage()

/** A page with the element and what its developer has written. */
async function openPage(element: string, script: string, more: Partial<VisitOptions> = {}): Promise<Visit> {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    body: `<p>${element}</p>`,
    script: `
      globalThis.logged = []
      const { error } = console
      console.error = text => {
        logged.push(text)
        error(text)
      }
      globalThis.token = await getToken('first')
      const element = document.querySelector('keyrail-keys')
      ${script}
      document.querySelector('main').append('Ready')`,
    mayFail: /keyrail-keys>|CORS policy|Failed to load resource|net::ERR_FAILED/,
    ...more,
  })
  await visit.text('Ready')
  return visit
}

/** The person reads that nothing can be had now; the page hears why, and the developer reads it once. */
async function assertLogged(visit: Visit, sentence: RegExp) {
  const { page } = visit
  await visit.text('The service is not available now')
  assert.equal(await page.getByText('Your session has ended').count(), 0)
  assert.deepEqual(await visit.eventNames(), ['error'])
  const again = page.evaluate(
    `new Promise(resolve => addEventListener('keyrail-error', () => resolve(), { once: true }))`,
  )
  await visit.button('Try again').click()
  await again
  const events = await visit.events()
  assert.equal(events.length, 2)
  for (const event of events) assert.match(event, /"code":"misconfigured"/)
  const logged = (await page.evaluate('logged')) as string[]
  assert.equal(logged.length, 1, logged.join('\n'))
  assert.match(logged[0] ?? '', /^<keyrail-keys>: /)
  assert.match(logged[0] ?? '', sentence)
  assert.ok(![...logged, ...events].join().includes(String(await page.evaluate('token'))))
}

const plain = '<keyrail-keys></keyrail-keys>'
const served = `<keyrail-keys base-url="${stage.url}"></keyrail-keys>`
const give = `getToken = async () => token`
const addressFix = /baseUrl must be the address of Keyrail, such as https:\/\/keys\.example\.com/
const other = /baseUrl must be the address.*Something else answers at http/

const addresses: Readonly<Record<string, readonly [string, RegExp]>> = {
  'is no address': [`element.baseUrl = 'keys.example.com'`, addressFix],
  'has another scheme': [`element.baseUrl = 'ftp://keys.example.com'`, addressFix],
  'is that of the page, which answers 404': ['element.baseUrl = location.origin', other],
  'is that of a page that answers everything': [`element.baseUrl = location.href + 'any'`, other],
  'answers nothing that a page may read': [`element.baseUrl = '${stage.url}/elsewhere'`, other],
}

for (const [fault, [script, sentence]] of Object.entries(addresses))
  test(`a baseUrl that ${fault} is named once, and the right one shows the keys`, async () => {
    const visit = await openPage(plain, script)
    await visit.page.route('**/any/v1/embed/**', route =>
      route.fulfill({ contentType: 'text/html', body: '<p>Welcome</p>' }),
    )
    await visit.page.evaluate(`document.querySelector('keyrail-keys').${give}`)
    await assertLogged(visit, sentence)
    await visit.page.evaluate(`document.querySelector('keyrail-keys').baseUrl = '${stage.url}'`)
    await visit.text('No keys yet')
    await visit.leave()
  })

const functions: Readonly<Record<string, readonly [string, RegExp]>> = {
  'is the token itself': ['token', /getToken must be a function that .* It is no function\.$/],
  'is the promise of a token': [
    'Promise.resolve(token)',
    /getToken must be a function that .* It is no function\.$/,
  ],
  'returns nothing': [
    'async () => {}',
    /getToken must be a function that .* It has resolved to undefined\.$/,
  ],
  'returns the answer': [
    'async () => ({ token })',
    /getToken must be a function that .* It has resolved to object\.$/,
  ],
  'returns the text of the answer': [
    'async () => JSON.stringify({ token })',
    /getToken must be a function that .* It has resolved to another text\.$/,
  ],
  'returns a whole header': [
    `async () => 'Bearer ' + token`,
    /getToken must be a function that .* It has resolved to another text\.$/,
  ],
  'returns another text': [
    `async () => 'kr_live_secret'`,
    /getToken must be a function that .* It has resolved to another text\.$/,
  ],
}

for (const [fault, [value, sentence]] of Object.entries(functions))
  test(`a getToken that ${fault} is named once, and the right one shows the keys`, async () => {
    const visit = await openPage(served, `element.getToken = ${value}`)
    await assertLogged(visit, sentence)
    await visit.page.evaluate(`document.querySelector('keyrail-keys').${give}`)
    await visit.text('No keys yet')
    await visit.leave()
  })

test('a page of the package without a baseUrl says so', async () => {
  const visit = await openPage(plain, `await import('./package.js'); element.${give}`, {
    widget: '',
    files: { 'package.js': await bundlePage(`import '../../src/index.ts'`) },
  })
  await assertLogged(visit, addressFix)
  await visit.page.evaluate(`document.querySelector('keyrail-keys').baseUrl = '${stage.url}'`)
  await visit.text('No keys yet')
  await visit.leave()
})

test('while a page has set nothing, nothing is reported', async () => {
  const visit = await openPage(served, '')
  await visit.page.evaluate('new Promise(requestAnimationFrame)')
  assert.deepEqual(await visit.events(), [])
  assert.deepEqual(await visit.page.evaluate('logged'), [])
  await visit.page.evaluate(`document.querySelector('keyrail-keys').${give}`)
  await visit.text('No keys yet')
  await visit.leave()
})

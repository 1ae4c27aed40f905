import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { WorkspaceUpdate } from '@keyrail/contract/vendor/workspace'
import fc from 'fast-check'
import { Value } from 'typebox/value'
import { makePerson } from '../../server/test/people.ts'
import { until } from '../../server/test/until.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { contrastOf, textOn } from '../src/screens/embed/contrast.ts'
import { faultOfOrigin } from '../src/screens/embed/origin-faults.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { query, ask } = stage.harness
const makeMember = (workspaceId: string, name: string, role: 'owner' | 'admin' | 'member') =>
  makePerson(query, { workspaceId, role, name, email: `${name.toLowerCase()}@example.com` })

test('an admin edits the origins, and reads each fault at its line', async () => {
  const acme = await makeVendor(stage.harness)
  const ann = await makeMember(acme.workspaceId, 'Ann', 'admin')
  const visit = await stage.visit('/app/settings/embed', { as: ann })
  await visit.text('No page may use embed tokens yet.')
  await visit.look('embed-without-origins')
  const typed = ['https://app.example.com', 'https://app.example.com/keys', 'app.example.com']
  for (const [at, origin] of typed.entries()) {
    await visit.press('Add origin')
    await visit.fill(`Origin ${at + 1}`, origin)
  }
  await visit.press('Save origins')
  await visit.text('Leave out the path')
  await visit.text('Begin with https:// or http://.')
  assert.notEqual(
    await visit.page.getByLabel('Origin 1', { exact: true }).getAttribute('aria-invalid'),
    'true',
  )
  await visit.look('embed-faults')
  await visit.fill('Origin 2', 'http://localhost:5173')
  await visit.press('Remove origin 3')
  await visit.press('Save origins')
  await visit.text('The origins are saved.')
  const { body } = await ask('GET', '/v1/workspace', { token: acme.live })
  assert.deepEqual(body.embed_origins, ['https://app.example.com', 'http://localhost:5173'])
  const code = visit.page.getByRole('figure', { name: 'On your server' })
  assert.match(
    String(await code.textContent()),
    new RegExp(`embedHandler.*url: '${stage.url}'.*project: '${acme.projectId}'`, 's'),
  )
  await visit.leave()
})

test('the code for a page names the version and the integrity of the widget that is served', async () => {
  const acme = await makeVendor(stage.harness)
  const ann = await makeMember(acme.workspaceId, 'Ida', 'admin')
  const visit = await stage.visit('/app/settings/embed', { as: ann })
  const code = visit.page.getByRole('figure', { name: 'On your page' })
  await code.getByText('integrity=').waitFor()
  const [, src = '', integrity = ''] =
    /src="([^"]+)"\s+integrity="([^"]+)"/.exec(String(await code.textContent())) ?? []
  const script = await (await fetch(src)).bytes()
  assert.equal(integrity, `sha384-${hash('sha384', script, 'base64')}`)
  assert.ok(src.startsWith(`${stage.url}/embed/v1/keyrail-keys-`), src)
  await code.getByText('HTML, always newest', { exact: true }).click()
  await code.getByText(`${stage.url}/embed/v1/keyrail-keys.js`).waitFor()
  await visit.leave()
})

test('the page accepts exactly the origins that the service accepts', () => {
  const some = fc.constantFrom(
    'https://',
    'http://',
    'ftp://',
    'a.example',
    'A-1',
    ':8080',
    ':123456',
    '/',
    '*',
    ' ',
    'é',
  )
  fc.assert(
    fc.property(fc.array(some, { minLength: 1, maxLength: 5 }), parts => {
      const origin = parts.join('')
      assert.equal(
        faultOfOrigin(origin, []) === null,
        Value.Check(WorkspaceUpdate, { embed_origins: [origin] }),
        origin,
      )
    }),
  )
})

test('the text on every accent has the contrast that small text needs', () => {
  assert.equal(contrastOf('#000000', '#ffffff'), 21)
  assert.equal(contrastOf('#777777', '#ffffff').toFixed(2), '4.48')
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), number => {
      const accent = `#${number.toString(16).padStart(6, '0')}`
      assert.ok(contrastOf(accent, textOn(accent)) >= 4.5, accent)
    }),
  )
})

test('an admin sets the theme, and sees before whether it can be read', async () => {
  const acme = await makeVendor(stage.harness)
  const ann = await makeMember(acme.workspaceId, 'Anna', 'admin')
  const visit = await stage.visit('/app/settings/embed', { as: ann })
  const theme = async () => (await ask('GET', '/v1/workspace', { token: acme.live })).body.embed_theme
  await visit.fill('Accent', 'green')
  await visit.fill('Radius', '99')
  await visit.press('Save theme')
  await visit.text('Enter a colour such as #1d6a58, or nothing.')
  await visit.text('Enter a whole number from 0 to 24, or nothing.')
  await visit.look('embed-theme-faults')
  await visit.fill('Accent', '#ffee88')
  await visit.text('It is hard to see: 3 to 1 is the least.')
  await visit.fill('Accent', '#7c3aed')
  await visit.fill('Radius', '0')
  await visit.fill('Logo text', 'Acme API')
  const preview = visit.page.getByRole('figure', { name: 'Preview' })
  const button = preview.getByText('Create key').first()
  assert.match(
    String(await button.getAttribute('style')),
    /background-color: rgb\(124, 58, 237\); color: rgb\(255, 255, 255\); border-radius: 0px/,
  )
  assert.match(String(await preview.textContent()), /Acme API.*text 5\.7 to 1, button 5\.7 to 1/)
  await visit.look('embed-theme')
  await visit.press('Save theme')
  await visit.text('The theme is saved.')
  assert.deepEqual(await theme(), { accent: '#7c3aed', radius: 0, logo_text: 'Acme API' })
  await visit.fill('Radius', '')
  await visit.press('Save theme')
  await until(async () => (await theme()).radius === null)
  await visit.leave()
})

test('a member reads the origins and the code, no way to change them, and why', async () => {
  const acme = await makeVendor(stage.harness)
  await ask('PATCH', '/v1/workspace', { token: acme.live, body: { embed_origins: ['https://a.example'] } })
  const bob = await makeMember(acme.workspaceId, 'Bob', 'member')
  const visit = await stage.visit('/app/settings/embed', { as: bob })
  await visit.text('https://a.example')
  await visit.text('Only an admin or an owner can change the origins and the theme.')
  for (const name of ['Save origins', 'Save theme'])
    assert.equal(await visit.page.getByRole('button', { name }).count(), 0)
  await visit.look('embed-as-member')
  await visit.leave()
})

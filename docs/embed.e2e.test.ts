import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { EmbedTheme } from '../packages/contract/src/shared.ts'
import { pageSamples } from '../packages/dashboard/src/screens/embed/page-samples.ts'
import { serverSamples } from '../packages/dashboard/src/screens/embed/server-samples.ts'
import { routes as embedRoutes } from '../packages/server/src/embed/routes.ts'
import { tokenLengthMax, tokenLifeS } from '../packages/server/src/embed/signed-token.ts'
import { embeddedAMinute } from '../packages/server/src/keys/quota.ts'
import { updatedAMinute } from '../packages/server/src/keys/turns.ts'
import { isSigningPem } from '../packages/server/src/platform/crypto/signing-keys.ts'
import {
  jwksMaxAgeS,
  keptAfterS,
  publishedBeforeS,
  readAgainS,
} from '../packages/server/src/platform/db/sealed/signing-keys.ts'
import { preflightMaxAgeS } from '../packages/server/src/platform/http/cors.ts'
import { settings } from '../packages/server/src/settings.ts'
import { metAMinute } from '../packages/server/src/tenants/meet.ts'
import { mintToken, setOrigins } from '../packages/server/test/embed.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { makeVendor } from '../packages/server/test/vendor.ts'
import { checkout, codeBlocks, figuresMissing, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/embed.md')
const run = promisify(execFile)
const harness = await startHarness({ publicUrl: 'https://keyrail.example.com' })
const vendor = await makeVendor(harness)
const plain = (cell = '') => cell.replaceAll('`', '')

/** The answer, with the page's mark in place of each varying value. */
function masked(heard: unknown, shown: unknown): unknown {
  if (shown === '…' && typeof heard === 'string') return shown
  if (typeof heard !== 'object' || heard === null || Array.isArray(heard)) return heard
  const fields = (shown ?? {}) as Record<string, unknown>
  return Object.fromEntries(Object.entries(heard).map(([name, value]) => [name, masked(value, fields[name])]))
}

test('the curl lines of the worked example work as written and get the shown answers', async () => {
  const KEYRAIL = await harness.app.listen({ host: '127.0.0.1', port: 0 })
  const { live: SECRET_KEY, projectId: PROJECT, tenantId: TENANT } = vendor
  const made = await harness.ask('POST', '/v1/secret_keys', {
    token: SECRET_KEY,
    body: { env: 'live', preset: 'embed', project_ids: [PROJECT] },
  })
  const EMBED_KEY: string = made.body.key
  const env: NodeJS.ProcessEnv = { ...process.env, KEYRAIL, SECRET_KEY, EMBED_KEY, PROJECT, TENANT }
  const blocks = codeBlocks(section(page, 'A worked example'))
  assert.equal(blocks.length, 14)
  for (let i = 0; i < blocks.length; i += 2) {
    const [command, answer] = [blocks[i]?.text ?? '', blocks[i + 1]?.text ?? '']
    const { stdout } = await run('bash', ['-ec', command], { env })
    const [heard, shown] = [JSON.parse(stdout), JSON.parse(answer)]
    assert.deepEqual(masked(heard, shown), shown, command)
    assert.deepEqual(Object.keys(heard), Object.keys(shown))
    if (heard.object === 'embed_token') env.TOKEN = heard.token
    if (heard.object === 'api_key') env.KEY_ID = heard.id
  }
})

test('the code for the server is what the dashboard shows, which its test runs', () => {
  const place = {
    url: 'https://keys.example.com',
    projectId: 'the-id-of-your-project',
    env: 'live' as const,
  }
  const { code } = serverSamples(place)[0]
  assert.equal(codeBlocks(section(page, 'Your server'))[0]?.text.trim(), code)
})

test('the three lines are what the dashboard shows for a page, whose test runs it', () => {
  const samples = pageSamples({ url: 'https://keys.example.com' }, null)
  const [html] = samples
  const [tags = '', script = ''] = codeBlocks(section(page, 'Three lines')).map(({ text }) => text)
  for (const line of tags.trim().split('\n')) assert.ok(html.code.includes(line.trim()), line)
  const [, ...body] = script.trim().split('\n')
  for (const line of body) assert.ok(html.code.includes(line.trim()), line)
})

test('the tables name the custom properties and the events of the element, and no others', () => {
  const source = (name: string) => readDocument(`packages/embed/src/widget/${name}`)
  const named = (heading: string) => tableOf(section(page, heading)).map(([cell]) => plain(cell))
  const used = new Set(source('keyrail-keys.css').match(/--keyrail-[a-z]+/g))
  assert.deepEqual(named('Looks').toSorted(), [...used].toSorted())
  const [, fields = ''] = /interface KeyrailEvents \{(.*?)\n\}/s.exec(source('events.ts')) ?? []
  const events = [...fields.matchAll(/^ {2}'?([a-z-]+)'?:/gm)].map(([, name]) => `keyrail-${name}`)
  assert.deepEqual(named('Events'), events)
})

test('the languages are those that the widget has', () => {
  const inEnglish = new Intl.DisplayNames('en', { type: 'language' })
  const files = globSync('packages/embed/src/widget/words/??.ts', { cwd: checkout })
  const languages = files.map(file => inEnglish.of(basename(file, '.ts')))
  assert.ok(languages.length >= 5)
  assert.deepEqual(
    figuresMissing(
      section(page, 'Languages'),
      languages.map(language => `${language}`),
    ),
    [],
  )
})

test('the routes take exactly the scopes of the table', () => {
  const routes = embedRoutes.filter(({ plane }) => plane === 'embed')
  assert.deepEqual(
    tableOf(section(page, 'What a token may do')).map(([route, scope]) => [plain(route), plain(scope)]),
    routes.map(({ method, path, access }) => [
      `${method} ${path}`,
      (access.open ? undefined : access.embedScope) ?? 'none',
    ]),
  )
})

test('a token has the claims of the table', async () => {
  await setOrigins(harness, vendor, ['https://app.example.com'])
  const token = await mintToken(harness, vendor, { origins: ['https://app.example.com'] })
  const [header = '', payload = ''] = token.split('.').map(part => Buffer.from(part, 'base64url').toString())
  const claims = JSON.parse(payload)
  const listed = tableOf(section(page, 'What a token is')).map(([claim]) => plain(claim))
  assert.deepEqual(listed.toSorted(), Object.keys(claims).toSorted())
  const { alg, typ } = JSON.parse(header)
  assert.deepEqual(figuresMissing(section(page, 'What a token is'), [alg, typ]), [])
})

test('the times and bounds match the service', () => {
  assert.equal(tokenLifeS, 5 * 60)
  const ofToken = [`${tokenLifeS} seconds`, `${tokenLengthMax.toLocaleString('en')} characters`]
  assert.deepEqual(figuresMissing(page, ofToken), [])
  const ofKeys = [
    ...[readAgainS, jwksMaxAgeS].map(seconds => `${seconds}`),
    ...[publishedBeforeS, keptAfterS].map(seconds => `${seconds / 60} minutes`),
  ]
  assert.deepEqual(figuresMissing(section(page, 'Signing keys'), ofKeys), [])
  const caps = tableOf(section(page, 'Caps')).map(([, most]) => Number(most))
  assert.deepEqual(caps, [
    Number(settings.SERVICE_EMBED_MAX_ACTIVE_KEYS.default),
    embeddedAMinute,
    metAMinute,
    updatedAMinute,
  ])
})

test('the page states how long a preflight may be kept, and the bounds of the theme', () => {
  assert.deepEqual(figuresMissing(page, [`${preflightMaxAgeS.toLocaleString('en')} seconds`]), [])
  const { properties } = EmbedTheme as unknown as { properties: Record<string, Record<string, number>> }
  const forms = tableOf(section(page, 'The theme')).map(([field, form]) => [plain(field), plain(form)])
  assert.deepEqual(forms, [
    ['accent', '#rrggbb'],
    ['radius', `${properties.radius?.minimum} to ${properties.radius?.maximum}`],
    ['logo_text', `${properties.logo_text?.minLength} to ${properties.logo_text?.maxLength} characters`],
  ])
})

test('a request without an Origin is handled as in the table', async () => {
  const token = await mintToken(harness, vendor)
  const { publicUrl } = harness.deps.config
  for (const [site = '', then = ''] of tableOf(section(page, 'Pages'))) {
    const value = site === 'anything else' ? 'cross-site' : plain(site)
    const headers = { ...(value !== 'absent' && { 'sec-fetch-site': value }) }
    const statusWith = async (origins: string[]) => {
      await setOrigins(harness, vendor, origins)
      return (await harness.ask('GET', '/v1/embed/session', { token, headers })).status
    }
    const expected = then.startsWith('403') ? [403, 403] : value === 'absent' ? [200, 200] : [200, 403]
    assert.deepEqual([await statusWith([publicUrl]), await statusWith([])], expected, site)
  }
})

test('the command for a custom key makes one that the service accepts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-docs-'))
  after(() => rmSync(folder, { recursive: true }))
  const command = codeBlocks(section(page, 'Signing keys')).find(({ text }) => text.startsWith('openssl'))
  await run('bash', ['-ec', command?.text ?? ''], { cwd: folder })
  assert.ok(isSigningPem(readFileSync(join(folder, 'signing-key.pem'), 'utf8')))
})

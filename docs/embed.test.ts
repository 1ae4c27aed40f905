import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { embedRoutes } from '../packages/server/src/embed/routes.ts'
import { embeddedAMinute } from '../packages/server/src/keys/room.ts'
import { tokenLengthMax, tokenLifeS } from '../packages/server/src/platform/crypto/embed-token.ts'
import { isSigningPem } from '../packages/server/src/platform/crypto/signing-keys.ts'
import {
  jwksMaxAgeS,
  keptAfterS,
  publishedBeforeS,
  readAgainS,
} from '../packages/server/src/platform/db/signing-keys.ts'
import { settings } from '../packages/server/src/settings.ts'
import { mintToken, setOrigins } from '../packages/server/test/embed.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { makeVendor } from '../packages/server/test/vendor.ts'
import { codeBlocks, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/embed.md')
const text = page.replaceAll(/\s+/g, ' ')
const run = promisify(execFile)
const harness = await startHarness()
const vendor = await makeVendor(harness)
const plain = (cell = '') => cell.replaceAll('`', '')

/** What was answered, with the mark of the page wherever the page has it. */
function masked(heard: unknown, shown: unknown): unknown {
  if (shown === '…' && typeof heard === 'string') return shown
  if (typeof heard !== 'object' || heard === null || Array.isArray(heard)) return heard
  const told = (shown ?? {}) as Record<string, unknown>
  return Object.fromEntries(Object.entries(heard).map(([name, value]) => [name, masked(value, told[name])]))
}

test('the curl lines of the worked example work as written and answer what is shown', async () => {
  const KEYRAIL = await harness.app.listen({ host: '127.0.0.1', port: 0 })
  const { live: SECRET_KEY, projectId: PROJECT, tenantId: TENANT } = vendor
  const made = await harness.ask('POST', '/v1/secret_keys', {
    token: SECRET_KEY,
    body: { env: 'live', preset: 'embed', project_ids: [PROJECT] },
  })
  const EMBED_KEY: string = made.body.key
  const env: NodeJS.ProcessEnv = { ...process.env, KEYRAIL, SECRET_KEY, EMBED_KEY, PROJECT, TENANT }
  const blocks = codeBlocks(section(page, 'A worked example'))
  assert.equal(blocks.length, 12)
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

test('the routes take the scopes of the table, and there are no others', () => {
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
  const told = tableOf(section(page, 'What a token is')).map(([claim]) => plain(claim))
  assert.deepEqual(told.toSorted(), Object.keys(claims).toSorted())
  const { alg, typ } = JSON.parse(header)
  assert.ok(text.includes(`\`${alg}\`, \`typ\` \`${typ}\``))
})

test('the times and bounds are those of the service', () => {
  assert.ok(text.includes(`| \`exp\` | ${tokenLifeS} seconds later`))
  assert.equal(tokenLifeS, 5 * 60)
  assert.ok(text.includes(`at most ${tokenLengthMax.toLocaleString('en')} characters`))
  assert.ok(text.includes(`under \`/v1\`, for anybody, for ${jwksMaxAgeS} seconds`))
  assert.ok(text.includes(`signs ${publishedBeforeS / 60} minutes later`))
  assert.ok(text.includes(`at least every ${readAgainS} seconds`))
  assert.ok(text.includes(`verifies for ${keptAfterS / 60} minutes more`))
  const caps = tableOf(section(page, 'Caps')).map(([, most]) => Number(most))
  assert.deepEqual(caps, [Number(settings.SERVICE_EMBED_MAX_ACTIVE_KEYS.default), embeddedAMinute])
})

test('a request without an Origin is taken as the table says', async () => {
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

test('the command for a key of one’s own makes one that the service takes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-docs-'))
  after(() => rmSync(folder, { recursive: true }))
  const command = codeBlocks(section(page, 'Signing keys')).find(({ text }) => text.startsWith('openssl'))
  await run('bash', ['-ec', command?.text ?? ''], { cwd: folder })
  assert.ok(isSigningPem(readFileSync(join(folder, 'signing-key.pem'), 'utf8')))
})

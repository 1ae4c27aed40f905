import assert from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { test } from 'node:test'
import { errors } from '@keyrail/contract/errors'
import { createKeyring, type KeyringOptions } from '../packages/sdk/src/index.ts'
import { drawKey, id, withChecksum } from '../packages/sdk/test/keys.ts'
import { startKeyrail } from '../packages/sdk/test/service.ts'
import { makeCertificate } from '../packages/server/test/certificate.ts'
import { mintToken, setOrigins } from '../packages/server/test/embed.ts'
import { readDocument, section, tableOf } from './documents.ts'
import { answers } from './sdk-answers.ts'
import { misuses } from './sdk-misuse.ts'
import { misusesOfFrameworks } from './sdk-misuse-frameworks.ts'
import { misusesOfAdmin, misusesOfEmbed, misusesOfUsage } from './sdk-misuse-parts.ts'
import { patternOf, type Said, type Situation, thrownBy } from './sdk-said.ts'
import { answering, portOf } from './sdk-servers.ts'

/** Provokes what the SDK says about something wrong, with real servers for messages about a server. */

const table = tableOf(section(readDocument('docs/errors.md'), 'Codes of the SDK'))
const codes = table.map(([code = '']) => code.replaceAll('`', ''))

const { service, vendor, settings, connection } = await startKeyrail()
const { key: apiKey } = await service
  .ask('POST', '/v1/keys', {
    token: vendor.live,
    body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live' },
  })
  .then(({ body }) => body)
await setOrigins(service, vendor, ['https://app.example.com'])
const embedToken = await mintToken(service, vendor, { origins: ['https://app.example.com'] })
const live = drawKey('krsk_live')

/** What a maker throws. It never contains the given secret key. */
function thrown(options: Record<string, unknown>): TypeError {
  const given = { ...settings, ...options }
  const opened = () => createKeyring(given as KeyringOptions)
  try {
    void opened().close()
  } catch (error) {
    assert.ok(error instanceof TypeError)
    const { secretKey } = given
    if (typeof secretKey === 'string' && secretKey.length > 8)
      assert.ok(!error.message.includes(secretKey.slice(-8)))
    return error
  }
  assert.fail(`no error for ${Object.keys(options)}`)
}

/** The first error that `onError` receives. */
async function reported(options: KeyringOptions): Promise<Said> {
  const first = Promise.withResolvers<Said>()
  const onError = first.resolve
  await using keyring = createKeyring({ ...settings, pollIntervalMs: 100, onError, ...options })
  const ended = thrownBy(() => keyring.ready())
  const said = await first.promise
  // After a temporary error `ready()` waits; with a permanent one it rejects.
  if (!/Still trying/.test(said.message)) assert.equal((await ended).message, said.message)
  return said
}

const { key, cert } = makeCertificate()
const httpsPort = await portOf(createHttpsServer({ key, cert }, (_, response) => response.end('{}')))
const closed = createHttpServer()
const closedPort = await portOf(closed)
closed.close()

const wrongChecksum = live.slice(0, -1) + (live.endsWith('0') ? '1' : '0')
const query = 'state=secret-of-the-login'

const situations: readonly Situation[] = [
  ['no address', 'url is not given, and KEYRAIL_URL is not set', () => thrown({ url: undefined })],
  [
    'no secret key',
    'secretKey is not given, and KEYRAIL_SECRET_KEY is not set',
    () => thrown({ secretKey: undefined }),
  ],
  [
    'no project',
    'project is not given, and KEYRAIL_PROJECT is not set',
    () => thrown({ project: undefined }),
  ],
  ['a project by its slug', 'project must be a uuid', () => thrown({ project: 'payments' })],
  [
    'an address without scheme',
    'url must be an http or https address, such as https://keys.example.com',
    () => thrown({ url: 'keys.example.com' }),
  ],
  [
    'an address with a login',
    'url must have no user, query or fragment',
    () => thrown({ url: 'https://a:b@keys.example.com' }),
  ],
  [
    'an address with /v1',
    'url ends in /v1, which the SDK adds: leave it out',
    () => thrown({ url: 'https://keys.example.com/v1/' }),
  ],
  [
    'http beyond this machine',
    'url is http, and … is not this machine: anyone on the network could read the secret key. Use https, or set insecure: true on a network that you trust',
    () => thrown({ url: 'http://keys.example.com' }),
  ],
  [
    'a misspelt option',
    'createKeyring has no option "…": it is called "…"',
    () => thrown({ projectId: id(1) }),
  ],
  ['an empty secret key', 'secretKey is empty', () => thrown({ secretKey: '' })],
  [
    'a promise',
    'secretKey is of type …: give a string, or a function that returns one',
    () => thrown({ secretKey: Promise.resolve(live) }),
  ],
  [
    'a line feed',
    'secretKey begins or ends with white space, such as a line feed: remove it',
    () => thrown({ secretKey: `${live}\n` }),
  ],
  [
    'the header',
    'secretKey begins with Bearer, which the SDK adds: remove it',
    () => thrown({ secretKey: `Bearer ${live}` }),
  ],
  ['quotes', 'secretKey is in quotation marks: remove them', () => thrown({ secretKey: `"${live}"` })],
  [
    'an API key',
    'secretKey is an API key, as customers use: give a secret key (krsk_live_… or krsk_test_…)',
    () => thrown({ secretKey: apiKey }),
  ],
  [
    'an embed token',
    'secretKey is an embed token, which is for browsers: give a secret key',
    () => thrown({ secretKey: embedToken }),
  ],
  [
    'a session',
    'secretKey is a session token: create a secret key with it',
    () => thrown({ secretKey: drawKey('krses') }),
  ],
  [
    'half a key',
    'secretKey has … characters instead of 48: it was cut, or something was added to it',
    () => thrown({ secretKey: live.slice(0, 20) }),
  ],
  [
    'a changed character',
    'secretKey has a wrong checksum: one of its characters was changed',
    () => thrown({ secretKey: wrongChecksum }),
  ],
  [
    'another secret',
    'secretKey is not a Keyrail secret key (krsk_live_… or krsk_test_…)',
    () => thrown({ secretKey: 'hunter2-hunter2' }),
  ],
  [
    'test for live',
    'a test secret key cannot see env …: give a live one, or leave env out',
    () => thrown({ secretKey: drawKey('krsk_test'), env: 'live' }),
  ],
  [
    'nothing listens',
    'GET … failed at …: ECONNREFUSED, nothing listens there. Still trying, and ready() waits',
    () => reported({ url: `http://127.0.0.1:${closedPort}` }),
  ],
  [
    'no such host',
    'GET … failed at …, the host name cannot be resolved. Still trying, and ready() waits',
    () => reported({ url: 'https://keyrail.invalid' }),
  ],
  [
    'https to an http server',
    'GET … failed at …, it does not speak TLS: if it serves http, url must say so. Still trying, and ready() waits',
    async () => reported({ url: String((await answering(() => {})).url).replace('http:', 'https:') }),
  ],
  [
    'http to an https server',
    'GET … failed at …, it closed the connection: if it serves https, url must say so. Still trying, and ready() waits',
    () => reported({ url: `http://127.0.0.1:${httpsPort}` }),
  ],
  [
    'an untrusted certificate',
    'GET … failed at …, its certificate is not trusted or belongs to another host. Still trying, and ready() waits',
    () => reported({ url: `https://127.0.0.1:${httpsPort}` }),
  ],
  [
    'a redirect',
    'GET … was redirected to …, which the SDK does not follow: set url to the service itself. Still trying, and ready() waits',
    async () => {
      const location = `https://login.example.com/start?${query}`
      const said = await reported(
        await answering((_, response) => response.writeHead(302, { location }).end()),
      )
      assert.match(said.message, /redirected to https:\/\/login\.example\.com,/)
      assert.ok(!said.message.includes('start') && !said.message.includes(query))
      return said
    },
  ],
  [
    'a login page',
    'GET … was answered with an HTML page by …: a login page or proxy is in front of the service, or url is wrong. Still trying, and ready() waits',
    async () =>
      reported(await answering((_, response) => response.end('\n<!doctype html><title>Sign in</title>'))),
  ],
  [
    "a proxy's 404",
    'GET … was answered 404 http_404 by …, which is not a Keyrail error. Still trying, and ready() waits',
    async () => reported(await answering((_, response) => response.writeHead(404).end('none'))),
  ],
  [
    'other JSON',
    'The answer is not a valid answer of the policy feed: …. Still trying, and ready() waits',
    async () => reported(await answering((_, response) => response.end('{"ok":true}'))),
  ],
  ['an unknown secret key', 'GET … was answered 401 …: …', () => reported({ secretKey: live })],
  ['an unknown project', 'GET … was answered 404 not_found: …', () => reported({ project: id(9) })],
  [
    'a function that throws',
    'The function secretKey threw or rejected. Still trying, and ready() waits',
    () => reported({ secretKey: () => assert.fail('no secret') }),
  ],
  [
    'a start that takes too long',
    'No keys were loaded within … ms: …',
    async () => {
      await using keyring = createKeyring({ ...settings, ...(await answering(() => {})), readyTimeoutMs: 1 })
      return await thrownBy(() => keyring.ready())
    },
  ],
  [
    'a reserved port',
    'GET … was not sent: fetch refuses the port of …, which is reserved. Choose another port',
    () => reported({ url: 'http://127.0.0.1:6000', fetch: globalThis.fetch }),
  ],
  [
    'a function that returns another secret',
    'The value that the function secretKey returned …',
    () => reported({ secretKey: () => `${live}x` }),
  ],
]

const all = [
  ...situations,
  ...misuses,
  ...misusesOfAdmin(connection),
  ...misusesOfUsage(connection),
  ...misusesOfEmbed,
  ...misusesOfFrameworks,
  ...answers,
]
for (const [name, says, say] of all)
  test(`${name}: the message says it, and the page has its code`, async () => {
    const { message, code } = await say()
    assert.match(message, patternOf(says))
    if (code === undefined) return
    const named = code.replace(/^http_\d+$/, 'http_STATUS')
    assert.ok(codes.includes(named) || Object.hasOwn(errors, code), code)
  })

test('an error about a value from the environment names its variable', () => {
  const wrong = { KEYRAIL_URL: 'x', KEYRAIL_SECRET_KEY: ` ${live}`, KEYRAIL_PROJECT: 'x' }
  for (const [name, value] of Object.entries(wrong)) {
    process.env[name] = value
    try {
      const unset = { KEYRAIL_URL: 'url', KEYRAIL_SECRET_KEY: 'secretKey', KEYRAIL_PROJECT: 'project' }
      const option = unset[name as keyof typeof unset]
      assert.ok(thrown({ [option]: undefined }).message.startsWith(`${name} `))
    } finally {
      delete process.env[name]
    }
  }
})

test('an API key with a vendor prefix is recognized by its checksum', () => {
  const own = withChecksum(`acme_live_${'a'.repeat(32)}`)
  assert.match(thrown({ secretKey: own }).message, /is an API key/)
})

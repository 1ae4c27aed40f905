import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { after, test } from 'node:test'
import { createAdmin } from '../packages/sdk/src/admin.ts'
import { createKeyring, type KeyringOptions } from '../packages/sdk/src/index.ts'
import { type FeedService, project, secretKey, startFeedService } from '../packages/sdk/test/feed-service.ts'
import { deltaOf, openWitness, snapshotOf } from '../packages/sdk/test/hostile/node.ts'
import { drawKey, id, policyKey, withChecksum } from '../packages/sdk/test/keys.ts'
import { startKeyrail } from '../packages/sdk/test/service.ts'
import { until } from '../packages/sdk/test/until.ts'
import { makeCertificate } from '../packages/server/test/certificate.ts'
import { mintToken, setOrigins } from '../packages/server/test/embed.ts'
import { readDocument } from './documents.ts'
import { misuses } from './sdk-misuse.ts'
import { misusesOfParts } from './sdk-misuse-parts.ts'

/** Provokes every message of the page, with real servers for messages about a server. */

const rows = readDocument('docs/sdk-messages.md')
  .split('\n')
  .filter(line => line.startsWith('| `'))
  .map(line => line.split('|')[1]?.trim().replaceAll('`', '') ?? '')
const patternOf = (row: string) =>
  new RegExp(`^${row.replaceAll(/[.*+?^$()|[\]\\{}]/g, '\\$&').replaceAll('…', '.+')}$`, 's')

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

/** The message that a maker throws. It never contains the given secret key. */
function thrown(options: Record<string, unknown>): string {
  const given = { ...settings, ...options }
  const opened = () => createKeyring(given as KeyringOptions)
  try {
    void opened().close()
  } catch (error) {
    const { message } = error as TypeError
    assert.ok(error instanceof TypeError)
    const { secretKey } = given
    if (typeof secretKey === 'string' && secretKey.length > 8)
      assert.ok(!message.includes(secretKey.slice(-8)))
    return message
  }
  assert.fail(`no error for ${Object.keys(options)}`)
}

/** The first message that `onError` receives. */
async function reported(options: KeyringOptions): Promise<string> {
  const first = Promise.withResolvers<string>()
  const onError = ({ message }: { message: string }) => first.resolve(message)
  await using keyring = createKeyring({ ...settings, pollIntervalMs: 100, onError, ...options })
  const ended = keyring.ready().then(
    () => assert.fail('it is ready'),
    ({ message }: Error) => message,
  )
  const message = await first.promise
  // After a temporary error `ready()` waits; with a permanent one it rejects.
  if (!/Still trying/.test(message)) assert.equal(await ended, message)
  ended.catch(() => {})
  return message
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  return (server.address() as AddressInfo).port
}
const answering = async (listener: RequestListener): Promise<KeyringOptions> => ({
  url: `http://127.0.0.1:${await portOf(createHttpServer(listener))}`,
})
const { key, cert } = makeCertificate()
const httpsPort = await portOf(createHttpsServer({ key, cert }, (_, response) => response.end('{}')))
const closed = createHttpServer()
const closedPort = await portOf(closed)
closed.close()

const wrongChecksum = live.slice(0, -1) + (live.endsWith('0') ? '1' : '0')
const query = 'state=secret-of-the-login'

const situations: [name: string, say: () => string | Promise<string>][] = [
  ['no address', () => thrown({ url: undefined })],
  ['no secret key', () => thrown({ secretKey: undefined })],
  ['no project', () => thrown({ project: undefined })],
  ['a project by its slug', () => thrown({ project: 'payments' })],
  ['an address without scheme', () => thrown({ url: 'keys.example.com' })],
  ['an address with a login', () => thrown({ url: 'https://a:b@keys.example.com' })],
  ['an address with /v1', () => thrown({ url: 'https://keys.example.com/v1/' })],
  ['http beyond this machine', () => thrown({ url: 'http://keys.example.com' })],
  ['a misspelt option', () => thrown({ projectId: id(1) })],
  ['an empty secret key', () => thrown({ secretKey: '' })],
  ['a promise', () => thrown({ secretKey: Promise.resolve(live) })],
  ['a line feed', () => thrown({ secretKey: `${live}\n` })],
  ['the header', () => thrown({ secretKey: `Bearer ${live}` })],
  ['quotes', () => thrown({ secretKey: `"${live}"` })],
  ['an API key', () => thrown({ secretKey: apiKey })],
  ['an embed token', () => thrown({ secretKey: embedToken })],
  ['a session', () => thrown({ secretKey: drawKey('krses') })],
  ['half a key', () => thrown({ secretKey: live.slice(0, 20) })],
  ['a changed character', () => thrown({ secretKey: wrongChecksum })],
  ['another secret', () => thrown({ secretKey: 'hunter2-hunter2' })],
  ['test for live', () => thrown({ secretKey: drawKey('krsk_test'), env: 'live' })],
  ['nothing listens', () => reported({ url: `http://127.0.0.1:${closedPort}` })],
  ['no such host', () => reported({ url: 'https://keyrail.invalid' })],
  [
    'https to an http server',
    async () => reported({ url: String((await answering(() => {})).url).replace('http:', 'https:') }),
  ],
  ['http to an https server', () => reported({ url: `http://127.0.0.1:${httpsPort}` })],
  ['an untrusted certificate', () => reported({ url: `https://127.0.0.1:${httpsPort}` })],
  [
    'a redirect',
    async () => {
      const location = `https://login.example.com/start?${query}`
      const said = await reported(
        await answering((_, response) => response.writeHead(302, { location }).end()),
      )
      assert.match(said, /redirected to https:\/\/login\.example\.com,/)
      assert.ok(!said.includes('start') && !said.includes(query))
      return said
    },
  ],
  [
    'a login page',
    async () =>
      reported(await answering((_, response) => response.end('\n<!doctype html><title>Sign in</title>'))),
  ],
  [
    "a proxy's 404",
    async () => reported(await answering((_, response) => response.writeHead(404).end('none'))),
  ],
  ['other JSON', async () => reported(await answering((_, response) => response.end('{"ok":true}')))],
  ['an unknown secret key', () => reported({ secretKey: live })],
  ['an unknown project', () => reported({ project: id(9) })],
  ['a function that throws', () => reported({ secretKey: () => assert.fail('no secret') })],
  [
    'a start that takes too long',
    async () => {
      await using keyring = createKeyring({ ...settings, ...(await answering(() => {})), readyTimeoutMs: 1 })
      return await keyring.ready().then(
        () => 'ready',
        ({ message }) => message,
      )
    },
  ],
  ['a reserved port', () => reported({ url: 'http://127.0.0.1:6000' })],
  ['a function that returns another secret', () => reported({ secretKey: () => `${live}x` })],
]

/** The first message of a working node, to `onError` or `onNotice`, after the answers change. */
/** @param at which of the errors, from 0 */
async function answered(
  begin: (feed: FeedService) => void,
  options: KeyringOptions = {},
  at = 0,
): Promise<string> {
  const feed = await startFeedService()
  feed.upsert(policyKey(drawKey(), 1))
  feed.upsert(policyKey(drawKey(), 2))
  const { keyring, errors, notices } = openWitness(feed, options)
  await using _closed = keyring
  await keyring.ready().catch(() => {})
  begin(feed)
  await until(() => errors.length > at || notices.length > 0, 'a message arrives')
  await feed.close()
  return errors[at]?.message ?? notices[0]?.message ?? ''
}

function withoutEnd(feed: FeedService): void {
  let page = 0
  feed.misbehave = () =>
    snapshotOf(feed, { keys: [policyKey(drawKey(), 10 + page)], next_cursor: `c${page++}` })
}

const longAgo = '2020-01-01T00:00:00Z'
const answers: typeof situations = [
  [
    'a clock that was set back',
    () => answered(feed => feed.instead.push(deltaOf(feed, [], { generated_at: longAgo }))),
  ],
  [
    'a cache',
    () => answered(feed => feed.instead.push(snapshotOf(feed, { keys: [], generated_at: longAgo })), {}, 1),
  ],
  [
    'a restored database',
    () =>
      answered(feed => {
        feed.version = 1
      }),
  ],
  [
    'a key of a newer kind',
    () =>
      answered(feed => {
        const odd = { ...policyKey(drawKey(), 3), env: 'preview' }
        feed.instead.push(snapshotOf(feed, { keys: [odd] }))
      }),
  ],
  ['a snapshot whose pages do not end', () => answered(withoutEnd, { cachedTtlMs: 1_000 })],
  ['the end of its time', () => answered(withoutEnd, { cachedTtlMs: 1_000 }, 1)],
  ['too many keys', () => answered(() => {}, { maxCachedKeys: 1, maxAutoCachedKeys: 0 })],
  ['a node that is nearly full', () => answered(() => {}, { maxCachedKeys: 2, maxAutoCachedKeys: 2 })],
  ['more keys than expected', () => answered(() => {}, { maxCachedKeys: 1 })],
  [
    'a secret key without a permission for names',
    () =>
      answered(
        feed => {
          feed.instead.push(snapshotOf(feed, { features: ['external_id'], keys: [] }))
        },
        { names: true },
      ),
  ],
  ['a directory that is a file', () => answered(() => {}, { cacheDir: import.meta.filename })],
  [
    'a service that hangs',
    async () => {
      const { url } = await answering(() => {})
      return createAdmin({ url, secretKey, maxRetries: 0, timeoutMs: 50 })
        .workspace.get()
        .catch(({ message }) => message)
    },
  ],
  [
    'a function that hangs',
    () =>
      createAdmin({
        url: 'https://keys.example.com',
        secretKey: () => new Promise(() => {}),
        maxRetries: 0,
        timeoutMs: 50,
      })
        .workspace.get()
        .catch(({ message }) => message),
  ],
  [
    'a close before the start',
    async () => {
      const keyring = createKeyring({ ...(await answering(() => {})), secretKey, project })
      const ended = keyring.ready().catch(({ message }) => message)
      await keyring.close()
      return String(await ended)
    },
  ],
]

const matched = new Set<string>()
for (const [name, say] of [...situations, ...misuses, ...misusesOfParts(connection), ...answers])
  test(`${name}: the page has the message`, async () => {
    const said = await say()
    // The most specific row: one may be the beginning of another.
    const row = rows.filter(each => patternOf(each).test(said)).toSorted((a, b) => b.length - a.length)[0]
    assert.ok(row !== undefined, said)
    matched.add(row)
  })

test('every message of the page can occur', () => {
  assert.deepEqual(
    rows.filter(row => !matched.has(row)),
    [],
  )
})

test('an error about a value from the environment names its variable', () => {
  const wrong = { KEYRAIL_URL: 'x', KEYRAIL_SECRET_KEY: ` ${live}`, KEYRAIL_PROJECT: 'x' }
  for (const [name, value] of Object.entries(wrong)) {
    process.env[name] = value
    try {
      const unset = { KEYRAIL_URL: 'url', KEYRAIL_SECRET_KEY: 'secretKey', KEYRAIL_PROJECT: 'project' }
      const option = unset[name as keyof typeof unset]
      assert.ok(thrown({ [option]: undefined }).startsWith(`${name} `))
    } finally {
      delete process.env[name]
    }
  }
})

test('an API key with a vendor prefix is recognized by its checksum', () => {
  const own = withChecksum(`acme_live_${'a'.repeat(32)}`)
  assert.match(thrown({ secretKey: own }), /is an API key/)
})

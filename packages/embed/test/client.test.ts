import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

// The client without the element, which needs a browser. Its types are those of a browser, too.
const source = (name: string) => new URL(`../src/client/${name}`, import.meta.url).href
const { createEmbedClient } = await import(source('embed-client.ts'))
const { EmbedError } = await import(source('embed-error.ts'))

const baseUrl = 'https://keys.example'
const tokenOf = (tenant: string) =>
  `h.${Buffer.from(JSON.stringify({ sub: tenant })).toString('base64url')}.s${String(Math.random()).slice(2)}`

/** Answers the calls of the client. A thrown error is a lost answer. */
type Serve = (path: string, tenant: string, method: string) => object | Promise<object>

interface Options {
  getToken(): Promise<string>
  onTokenChange?(change: string): void
}

function openClient(t: TestContext, serve: Serve, options: Options) {
  t.mock.method(globalThis, 'fetch', async (url: URL | string, init: RequestInit = {}) => {
    const { authorization = '' } = (init.headers ?? {}) as Record<string, string>
    const [, part] = authorization.split('.')
    const tenant = part === undefined ? '' : JSON.parse(atob(part)).sub
    const answer = await serve(new URL(url).pathname, tenant, init.method ?? 'GET')
    // What makes an answer one of Keyrail's, also that with the public keys.
    return Response.json({ object: 'test', keys: [], ...answer })
  })
  const client = createEmbedClient({ baseUrl, ...options })
  t.after(() => client.close())
  return client
}

/** Stands for a browser without a network. */
function goOffline(t: TestContext): void {
  const before = Object.getOwnPropertyDescriptor(navigator, 'onLine')
  Object.defineProperty(navigator, 'onLine', { value: false, configurable: true })
  t.after(() => {
    Reflect.deleteProperty(navigator, 'onLine')
    if (before !== undefined) Object.defineProperty(navigator, 'onLine', before)
  })
}

const lost = (): never => {
  throw new TypeError('Failed to fetch')
}
const echo: Serve = (_, tenant) => ({ tenant })

test('offline, a page that cannot ask for a token has not ended its session', async t => {
  const client = openClient(t, echo, {
    async getToken() {
      throw new Error('signed out')
    },
  })
  await assert.rejects(client.session(), { code: 'session_ended' })
  goOffline(t)
  await assert.rejects(client.session(), { code: 'offline' })
})

test('the answer of a change can be lost only if there was a network when it was sent', async t => {
  let isOffline = false
  const client = openClient(
    t,
    (_, __, method) => {
      if (method !== 'POST') return {}
      if (!isOffline) goOffline(t)
      isOffline = true
      return lost()
    },
    { getToken: async () => tokenOf('a') },
  )
  await client.session()
  await assert.rejects(client.create(), { code: 'offline', isOutcomeUnknown: true })
  await assert.rejects(client.create(), { code: 'offline', isOutcomeUnknown: false })
})

test('what getToken throws says whether the session has ended, or when to try again', async t => {
  const answer = (status: number, headers = {}) => new Response('', { status, headers })
  const wait = { 'retry-after': '7' }
  for (const [thrown, code, retryAfterS] of [
    [new Error('signed out'), 'session_ended', null],
    [answer(401), 'session_ended', null],
    [answer(403, wait), 'session_ended', null],
    [answer(429, wait), 'too_many_requests', 7],
    [answer(500), 'unavailable', null],
    [answer(503, wait), 'unavailable', 7],
    [Object.assign(new Error('of a library'), { status: 502 }), 'unavailable', null],
    [new TypeError('Failed to fetch'), 'unavailable', null],
    [undefined, 'session_ended', null],
  ] as const) {
    const client = openClient(t, echo, {
      async getToken() {
        throw thrown
      },
    })
    await assert.rejects(client.create(), { code, retryAfterS, isOutcomeUnknown: false })
    t.mock.restoreAll()
  }
})

test('a wrong address or source of tokens is named to who draws their own, without what it was', async t => {
  const getToken = async () => tokenOf('a')
  for (const address of ['', 'keys.example.com', 'https://user:secret@keys.example', 'ftp://keys.example'])
    await assert.rejects(createEmbedClient({ baseUrl: address, getToken }).session(), {
      code: 'misconfigured',
      message: 'baseUrl must be the address of Keyrail, such as https://keys.example.com.',
    })
  for (const [given, fault] of [
    ['h.e30.secret', 'is no function'],
    [async () => undefined, 'has resolved to undefined'],
    [async () => ({ token: 'secret' }), 'has resolved to object'],
    [async () => 'secret', 'has resolved to another text'],
    [async () => 'h.e30.secret\n', 'has resolved to another text'],
    [async () => 'h.bnVsbA.secret', 'has resolved to another text'],
  ] as const) {
    const client = openClient(t, echo, { getToken: given as Options['getToken'] })
    await assert.rejects(client.session(), {
      code: 'misconfigured',
      message: `getToken must be a function that resolves to the text of a token. It ${fault}.`,
    })
    t.mock.restoreAll()
  }
})

test('what answers in place of Keyrail is a wrong address, unless Keyrail has answered before', async t => {
  let answer: () => Response = () => new Response('<p>Welcome</p>')
  const found = () => Response.json({ object: 'embed_session' })
  t.mock.method(globalThis, 'fetch', async () => answer())
  const open = () => {
    const client = createEmbedClient({ baseUrl: `${baseUrl}/here`, getToken: async () => tokenOf('a') })
    t.after(() => client.close())
    return client
  }
  const kinds: readonly (() => Response)[] = [
    answer,
    () => Response.json({ ok: true }),
    () => Response.json(null),
    () => new Response('', { status: 404 }),
    () => new Response('', { status: 401 }),
  ]
  for (const kind of kinds) {
    answer = kind
    await assert.rejects(open().create(), {
      code: 'misconfigured',
      message: /Something else answers at https:\/\/keys\.example\/here\.$/,
    })
    const client = open()
    answer = found
    await client.session()
    answer = kind
    const { status } = kind()
    await assert.rejects(client.session(), { code: status === 401 ? 'session_ended' : 'unreachable' })
  }
  answer = () => new Response('', { status: 502 })
  await assert.rejects(open().session(), { code: 'unreachable', status: 502 })
})

test('an EmbedError of getToken keeps its code, also from another copy of the module', async t => {
  const { EmbedError: Other } = await import(source('embed-error.ts?copy'))
  assert.notEqual(Other, EmbedError)
  for (const One of [EmbedError, Other]) {
    const client = openClient(t, echo, {
      async getToken() {
        throw new One('unavailable', 'The page is restarting.')
      },
    })
    await assert.rejects(client.session(), { code: 'unavailable' })
    t.mock.restoreAll()
  }
})

test('a token that was asked for before renewToken() is not used', async t => {
  const answers: ((token: string) => void)[] = []
  const client = openClient(t, echo, { getToken: () => new Promise(resolve => answers.push(resolve)) })
  const turn = () => new Promise(setImmediate)
  const session = client.session()
  await turn()
  client.renewToken()
  answers[0]?.(tokenOf('former'))
  await turn()
  answers[1]?.(tokenOf('newest'))
  assert.partialDeepStrictEqual(await session, { tenant: 'newest' })
  assert.equal(answers.length, 2)
})

test('a closed client asks for no token', async t => {
  let asked = 0
  const client = openClient(t, echo, {
    async getToken() {
      asked += 1
      return tokenOf('a')
    },
  })
  client.close()
  await assert.rejects(client.session(), { code: 'closed' })
  assert.equal(asked, 0)
})

test('a lost change stays unknown when the page gives no token afterwards', async t => {
  let isSignedIn = true
  const client = openClient(
    t,
    (_, tenant, method) => {
      if (method !== 'POST') return { tenant }
      isSignedIn = false
      return lost()
    },
    { getToken: async () => (isSignedIn ? tokenOf('a') : lost()) },
  )
  await assert.rejects(client.create(), { code: 'unavailable', isOutcomeUnknown: true })
})

test('the second try of a call is never answered for another tenant', async t => {
  let current = 'a'
  let isDown = false
  const client = openClient(
    t,
    (path, tenant) => {
      if (!isDown || path.includes('jwks')) return { tenant }
      isDown = false
      current = 'b'
      return lost()
    },
    { getToken: async () => tokenOf(current) },
  )
  assert.partialDeepStrictEqual(await client.list(), { tenant: 'a' })
  isDown = true
  await assert.rejects(client.list(), { code: 'tenant_changed' })
})

test('a listener hears of another tenant, until it no longer wants to', async t => {
  const changes: string[] = []
  let current = 'a'
  const client = openClient(t, echo, {
    getToken: async () => tokenOf(current),
    onTokenChange: change => changes.push(`option ${change}`),
  })
  const unsubscribe = client.onTokenChange((change: string) => changes.push(`listener ${change}`))
  const turnTo = async (tenant: string) => {
    current = tenant
    client.renewToken()
    await client.session().catch(() => {})
  }
  await turnTo('a')
  await turnTo('b')
  unsubscribe()
  await turnTo('c')
  assert.deepEqual(changes, ['option tenant', 'listener tenant', 'option tenant'])
})

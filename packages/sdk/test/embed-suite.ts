import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import type { Embed, EmbedTokenRequest } from '../src/embed/client.ts'
import type { EmbedCustomer } from '../src/embed/handler.ts'
import { KeyrailError, type KeyrailErrorFacts } from '../src/runtime/errors.ts'

/**
 * `embedHandler` in every framework. Each test file of a framework serves it at `/token`, for every method, with a session
 * check that passes the header `x-session` to `customerOf`.
 */
interface EmbedParts {
  embed: Embed | (() => Embed)
  customerOf(session: string | null | undefined): EmbedCustomer | null | Promise<EmbedCustomer | null>
  options?: { origins?: readonly string[] }
}

export type BuildEmbed = (parts: EmbedParts) => Promise<string>

const secret = 'krsk_live_secret'
const customer = { externalId: 'org_17', name: 'Globex', scopes: ['keys:read', 'key_scope:orders'] }
const expiresAt = '2027-01-31T09:35:00.000Z'

export function testEmbed(name: string, build: BuildEmbed): void {
  /** Serves the handler over a service that mints, or fails. */
  async function open(more: Partial<EmbedParts> = {}, failure?: KeyrailErrorFacts) {
    const asked: EmbedTokenRequest[] = []
    const sessions: unknown[] = []
    const embed: Embed = {
      async createToken(request) {
        asked.push(request)
        if (failure !== undefined) throw new KeyrailError('code', `refused ${secret}`, failure)
        return { token: 'the.embed.token', expiresAt } as Awaited<ReturnType<Embed['createToken']>>
      },
    }
    const customerOf = (session: string | null | undefined) => {
      sessions.push(session)
      return session === 'mine' ? customer : null
    }
    const url = new URL(await build({ embed, customerOf, ...more }))
    const ask = async (headers: Record<string, string> = {}, method = 'POST') => {
      const sent = httpRequest(`${url.origin}/token`, {
        method,
        agent: false,
        headers: { 'x-session': 'mine', ...headers },
      })
      sent.end()
      const [response] = await once(sent, 'response')
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      assert.ok(!text.includes(secret), text)
      const body: { readonly code?: string } = text.startsWith('{') ? JSON.parse(text) : {}
      const type = String(response.headers['content-type'])
      return { status: response.statusCode as number, headers: response.headers, type, body }
    }
    return { ask, asked, sessions, embed, host: url.host }
  }

  test(`${name}: a signed-in customer gets a token, and is created as a tenant if need be`, async () => {
    const { ask, asked } = await open()
    const { status, headers, type, body } = await ask()
    assert.deepEqual([status, body], [200, { token: 'the.embed.token', expires_at: expiresAt }])
    assert.equal(headers['cache-control'], 'no-store')
    assert.match(type, /^application\/json/)
    const { externalId, scopes } = customer
    assert.deepEqual(asked, [{ externalId, scopes, createTenant: { name: 'Globex' } }])
  })

  test(`${name}: without a session there is no token`, async () => {
    const { ask, asked } = await open()
    const { status, headers, type, body } = await ask({ 'x-session': 'other' })
    assert.deepEqual([status, body.code, asked], [401, 'not_signed_in', []])
    assert.match(type, /^application\/problem\+json/)
    assert.equal(headers['cache-control'], 'no-store')
    const later = await open({ customerOf: async () => null })
    assert.deepEqual([(await later.ask()).status, later.asked], [401, []])
  })

  test(`${name}: only POST gets a token`, async () => {
    const { ask, asked, sessions } = await open()
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const { status, headers } = await ask({}, method)
      assert.deepEqual([status, headers.allow], [405, 'POST'], method)
    }
    assert.deepEqual([asked, sessions], [[], []])
  })

  test(`${name}: only a page of the same origin gets a token, or of a listed one`, async () => {
    const app = 'https://app.example.com'
    const { ask, asked, sessions, host } = await open({ options: { origins: [app] } })
    const refused = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'same-origin, cross-site' },
      { 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${app}.evil.example` },
      { origin: 'http://app.example.com' },
    ]
    for (const headers of refused) {
      const { status, body } = await ask(headers as Record<string, string>)
      assert.deepEqual([status, body.code], [403, 'origin_not_allowed'], JSON.stringify(headers))
    }
    assert.deepEqual([asked, sessions], [[], []])
    const allowed = [
      {},
      { 'sec-fetch-site': 'same-origin', origin: `http://${host}` },
      { 'sec-fetch-site': 'same-origin' },
      { origin: `http://${host}` },
      { origin: app, 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of allowed)
      assert.equal((await ask(headers as Record<string, string>)).status, 200, JSON.stringify(headers))
    assert.equal((await (await open()).ask({ origin: app })).status, 403)
  })

  test(`${name}: a customer without a name, or with a long one, gets a token`, async () => {
    for (const [given, sent] of [
      ['', {}],
      [null, {}],
      ['\u{1F600}'.repeat(201), { name: '\u{1F600}'.repeat(200) }],
    ] as const) {
      const { ask, asked } = await open({ customerOf: () => ({ externalId: 'org_17', name: given }) })
      assert.equal((await ask()).status, 200)
      assert.deepEqual(asked[0]?.createTenant, sent)
    }
  })

  test(`${name}: an error of the service becomes an answer without its details`, async () => {
    for (const [failure, status, code, wait] of [
      [{ retryable: false, status: 401 }, 500, 'internal_error', undefined],
      [{ retryable: true }, 503, 'unavailable', '5'],
      [{ retryable: true, status: 503, retryAfterMs: 1_200 }, 503, 'unavailable', '2'],
      [{ retryable: true, status: 429, retryAfterMs: 7_000 }, 429, 'too_many_requests', '7'],
    ] as const) {
      const answer = await (await open({}, failure)).ask()
      assert.deepEqual([answer.status, answer.body.code, answer.headers['retry-after']], [status, code, wait])
    }
  })

  test(`${name}: a session check that throws gives no token`, async () => {
    for (const customerOf of [() => assert.fail('mine'), async () => assert.fail('mine')]) {
      const { ask, asked } = await open({ customerOf })
      assert.deepEqual([(await ask()).status, asked], [500, []])
    }
  })

  test(`${name}: the part may come from a function, which runs with the first request`, async () => {
    let made = 0
    const { embed } = await open()
    const { ask } = await open({
      embed: () => {
        made += 1
        return embed
      },
    })
    assert.equal(made, 0)
    assert.deepEqual([(await ask()).status, (await ask()).status], [200, 200])
    assert.equal(made, 1)
  })

  test(`${name}: a wrong argument of embedHandler is an error at startup`, async () => {
    for (const wrong of [undefined, {}, 'x', { createToken: 1 }])
      await assert.rejects(open({ embed: wrong as never }), /embedHandler takes a part made by createEmbed/)
    await assert.rejects(open({ options: { origin: 'x' } as never }), /embedHandler has no option "origin"/)
    await assert.rejects(
      open({ options: { origins: 'https://a.example' } as never }),
      /origins must be an array of origins/,
    )
  })
}

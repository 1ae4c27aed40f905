import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Idempotency } from '../src/idempotency/idempotent.ts'
import type { Keyring } from '../src/keyring/keyring.ts'
import type { GateOptions, GateVerdict } from '../src/protect/gate-options.ts'
import { createTestKeyring } from '../src/testing.ts'
import { tokenOf } from './gate-token.ts'

/**
 * The options of a gate, which all frameworks share. Each test file of a framework builds this API; every
 * route is protected with the given options, and returns `{ keyId }`, null without a key.
 *
 * - `GET /plain`
 * - `GET /scoped`: needs the scope `admin`
 * - `POST /once`: idempotent
 */
interface GateParts {
  keyring: Pick<Keyring, 'verify'>
  idempotency: Idempotency
  // biome-ignore lint/suspicious/noExplicitAny: each framework has its own requests.
  options: GateOptions<any>
}

export type BuildGate = (parts: GateParts) => Promise<string>

/** Claims nothing, and answers 409 `asked`. */
const idempotency: Idempotency = {
  maxBodyBytes: 1_000,
  claim: async () => ({
    verdict: 'refuse',
    problem: {
      status: 409,
      headers: { 'content-type': 'application/problem+json' },
      body: { type: 'about:blank', title: 'Conflict', status: 409, detail: 'asked', code: 'asked' },
    },
  }),
  close: async () => {},
}

/** @param knowsPeer whether the framework knows the address of the caller by itself */
export function testGate(name: string, build: BuildGate, { knowsPeer = true } = {}): void {
  const keyring = createTestKeyring()
  const { key, keyId } = keyring.issue()
  const bearer = { authorization: `Bearer ${key}` }

  const open = async (options: GateParts['options']) => {
    const url = await build({ keyring, idempotency, options })
    return async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
      const answer = await fetch(url + path, { method, headers: { ...headers, connection: 'close' } })
      const text = await answer.text()
      // biome-ignore lint/suspicious/noExplicitAny: the assertions check the value.
      const body: any = text.startsWith('{') ? JSON.parse(text) : text
      return { status: answer.status, headers: answer.headers, body }
    }
  }
  const post = { 'idempotency-key': 'a' }

  test(`${name}: onRefused shapes every refusal, at the gate and after it, and lets nothing pass`, async () => {
    const ask = await open({
      onRefused: ({ body, status }) => ({
        status: status === 401 ? 418 : undefined,
        headers: { 'X-Shaped': 'yes' },
        body: { error: { code: body.code } },
      }),
    })
    for (const [path, headers, method, status, code] of [
      ['/plain', {}, 'GET', 418, 'missing_key'],
      ['/scoped', bearer, 'GET', 403, 'insufficient_scope'],
      ['/once', { ...bearer, ...post }, 'POST', 409, 'asked'],
    ] as const) {
      const answer = await ask(path, headers, method)
      assert.deepEqual([answer.status, answer.body], [status, { error: { code } }])
      assert.equal(answer.headers.get('x-shaped'), 'yes')
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    }
    assert.equal((await ask('/plain', bearer)).status, 200)
    for (const odd of [() => ({ status: 200 }), () => assert.fail('mine'), async () => ({}), () => 7]) {
      const { status, body } = await (await open({ onRefused: odd as never }))('/plain')
      assert.deepEqual([status, body.code], [401, 'missing_key'])
    }
  })

  test(`${name}: an async onRefused is reported, whether it resolves or rejects`, async () => {
    for (const late of [async () => ({ status: 418 }), async () => assert.fail('mine')]) {
      const ask = await open({ onRefused: late as never })
      const [[{ message }], { status }] = await Promise.all([once(process, 'warning'), ask('/plain')])
      assert.equal(
        message,
        'onRefused was ignored: it returned a promise, and an answer does not wait for it',
      )
      assert.equal(status, 401)
    }
  })

  test(`${name}: getKey finds the key, and lets nothing pass if it throws`, async () => {
    for (const later of [tokenOf, async (request: unknown) => tokenOf(request)]) {
      const ask = await open({ getKey: later })
      const found = await ask('/plain', { cookie: `a=b; token=${key}` })
      assert.deepEqual([found.status, found.body], [200, { keyId }])
      const { status, body } = await ask('/plain', bearer)
      assert.deepEqual([status, body.code, body.detail], [401, 'missing_key', 'No API key was presented'])
    }
    for (const odd of [() => assert.fail('mine'), () => 7, async () => assert.fail('mine')]) {
      assert.equal((await (await open({ getKey: odd as never }))('/plain', bearer)).status, 500)
    }
  })

  /** Of the machine of the tests, and of nobody. */
  const near = keyring.issue({ allowedCidrs: ['127.0.0.0/8', '::1'] })
  const far = keyring.issue({ allowedCidrs: ['203.0.113.0/24'] })

  test(`${name}: networks are judged by the peer's address, and by no header of a client`, async () => {
    const ask = await open({})
    const claimed = Object.fromEntries(
      ['x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip'].map(header => [
        header,
        '203.0.113.7',
      ]),
    )
    const code = knowsPeer ? 'ip_not_allowed' : 'ip_unknown'
    const headers = { ...claimed, forwarded: 'for=203.0.113.7', authorization: `Bearer ${far.key}` }
    const refused = await ask('/plain', headers)
    assert.deepEqual([refused.status, refused.body.code], [403, code])
    assert.match(refused.headers.get('content-type') ?? '', /^application\/problem\+json/)
    assert.equal(refused.headers.get('www-authenticate'), null)
    const passed = await ask('/plain', { authorization: `Bearer ${near.key}` })
    assert.equal(passed.status, knowsPeer ? 200 : 403)
  })

  test(`${name}: getIp finds the address in place of the framework, and lets nothing pass if it throws`, async () => {
    const codeOf = async (getIp: () => unknown, { key }: { key: string }) => {
      const ask = await open({ getIp: getIp as never })
      const { status, body } = await ask('/plain', { authorization: `Bearer ${key}` })
      return status === 403 ? body.code : status
    }
    for (const found of [() => '203.0.113.7', async () => '::ffff:203.0.113.7'])
      assert.deepEqual([await codeOf(found, far), await codeOf(found, near)], [200, 'ip_not_allowed'])
    for (const none of [() => undefined, async () => null, () => '', () => '127.0.0.1:80'])
      assert.equal(await codeOf(none, near), 'ip_unknown')
    for (const odd of [() => assert.fail('mine'), () => 7, async () => assert.fail('mine')])
      assert.equal(await codeOf(odd, near), 500)
  })

  test(`${name}: of several headers the first with a key counts`, async () => {
    const ask = await open({ header: ['X-Api-Key', 'Authorization'] })
    const basic = { authorization: 'Basic eDp5' }
    for (const headers of [bearer, { 'x-api-key': key }, { 'x-api-key': key, ...basic }]) {
      assert.deepEqual((await ask('/plain', headers)).body, { keyId })
    }
    const wrong = await ask('/plain', { 'x-api-key': 'kr_live_wrong', ...bearer })
    assert.equal(wrong.body.code, 'malformed_key')
    const none = await ask('/plain')
    assert.equal(
      none.body.detail,
      'No API key was presented: send it in the header x-api-key or as "Authorization: Bearer <key>"',
    )
  })

  test(`${name}: an optional key may be missing, and is checked if it is sent`, async () => {
    const ask = await open({ optional: true })
    assert.deepEqual((await ask('/plain')).body, { keyId: null })
    assert.deepEqual((await ask('/plain', bearer)).body, { keyId })
    assert.deepEqual((await ask('/once', {}, 'POST')).body, { keyId: null })
    assert.equal((await ask('/once', post, 'POST')).body.code, 'missing_key')
    assert.equal((await ask('/scoped')).body.code, 'missing_key')
    for (const authorization of ['Bearer kr_live_wrong', key, 'Basic eDp5']) {
      const { status, body } = await ask('/plain', { authorization })
      assert.deepEqual([status, body.code], [401, 'malformed_key'])
    }
    assert.equal((await ask('/scoped', bearer)).status, 403)
  })

  test(`${name}: onVerdict gets every request, and stops none if it throws`, async () => {
    const verdicts: [boolean, string, string | undefined][] = []
    const ask = await open({
      optional: true,
      onVerdict({ passed, code, key: of }: GateVerdict) {
        verdicts.push([passed, code, of?.keyId])
        throw new Error('mine')
      },
    })
    await ask('/plain')
    await ask('/plain', bearer)
    await ask('/plain', { authorization: 'Bearer x' })
    assert.deepEqual(verdicts.splice(0), [
      [true, 'no_key', undefined],
      [true, 'valid', keyId],
      [false, 'malformed_key', undefined],
    ])
    await ask('/once', { ...bearer, ...post }, 'POST')
    assert.deepEqual(verdicts.pop(), [false, 'asked', keyId])
  })

  test(`${name}: a wrong option is an error at startup`, async () => {
    for (const [option, wrong] of [
      ['onRefused', 1],
      ['onVerdict', 'x'],
      ['getKey', {}],
      ['getIp', 'x-real-ip'],
      ['optional', 'yes'],
      ['header', []],
      ['header', ['x y']],
    ] as const) {
      await assert.rejects(
        async () => build({ keyring, idempotency, options: { [option]: wrong } as never }),
        (error: Error) => error instanceof TypeError && error.message.includes(option),
      )
    }
  })
}

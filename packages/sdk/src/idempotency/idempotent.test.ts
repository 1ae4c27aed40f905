import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { ManualTimer } from '../../test/manual-timer.ts'
import { startKeyrail } from '../../test/service.ts'
import { until } from '../../test/until.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { refused as refusals, type Valid } from '../verify/verdict.ts'
import type { HeldClaim } from './held-claim.ts'
import {
  createIdempotency,
  type IdempotencyOptions,
  type IdempotencyVerdict,
  type IdempotentRequest,
  openIdempotency,
} from './idempotent.ts'

const { service, settings, vendor, patient } = await startKeyrail()

const key: Valid = {
  valid: true,
  code: 'valid',
  keyId: id(1),
  tenantId: vendor.tenantId,
  env: 'live',
  scopes: [],
  expiresAt: null,
}
const payment = (more: Partial<IdempotentRequest> = {}): IdempotentRequest => ({
  key,
  idempotencyKey: randomUUID(),
  method: 'POST',
  target: '/payments',
  body: '{"amount":"12.50"}',
  ...more,
})
const made: [number, [string, string][], Buffer] = [
  201,
  Object.entries({
    'Content-Type': 'application/json',
    Location: '/payments/1',
    'Set-Cookie': 'a=b',
    Date: 'today',
  }),
  Buffer.from('{"id":1}'),
]

function executed(verdict: IdempotencyVerdict): HeldClaim {
  assert.ok(verdict.verdict === 'execute', JSON.stringify(verdict))
  return verdict.claim
}

function refused(verdict: IdempotencyVerdict) {
  assert.equal(verdict.verdict, 'refuse', JSON.stringify(verdict))
  type Problem = { status: number; headers: Record<string, string>; body: { code: string } }
  const { problem } = verdict as { problem: Problem }
  return [problem.status, problem.body.code, problem.headers['retry-after']] as const
}

function open(options: Partial<IdempotencyOptions> = {}) {
  const timer = new ManualTimer()
  const errors: string[] = []
  const idempotency = openIdempotency(
    { ...settings, onError: ({ code }: KeyrailError) => void errors.push(code), ...options },
    { timer, random: () => 0.5 },
  )
  return { timer, errors, idempotency }
}

const { claim, close } = createIdempotency(patient)

test('a request is executed once, and replayed without the headers of one exchange', async () => {
  const request = payment()
  await executed(await claim(request)).answered(...made)
  const again = await claim(request)
  assert.ok(again.verdict === 'replay')
  assert.deepEqual(
    { ...again.answer, body: Buffer.from(again.answer.body).toString() },
    {
      status: 201,
      headers: { 'content-type': 'application/json', location: '/payments/1', 'idempotent-replayed': 'true' },
      body: '{"id":1}',
    },
  )
  await close()
})

test('one of many concurrent requests is executed, the others get 409 with Retry-After', async () => {
  const request = payment()
  const verdicts = await Promise.all(Array.from({ length: 50 }, () => claim(request)))
  const [first, ...others] = verdicts.toSorted((a, b) => a.verdict.localeCompare(b.verdict))
  for (const [status, code, retryAfter] of others.map(refused)) {
    assert.deepEqual([status, code], [409, 'idempotency_in_progress'])
    assert.ok(Number(retryAfter) >= 1 && Number(retryAfter) <= 30)
  }
  await executed(first as IdempotencyVerdict).answered(...made)
})

test('a reused key is 422; another tenant, project or environment has its own keys', async () => {
  const request = payment()
  await executed(await claim(request)).answered(...made)
  for (const more of [{ method: 'PUT' }, { target: '/payments?a=1' }, { body: '{}' }]) {
    assert.deepEqual(refused(await claim({ ...request, ...more })), [
      422,
      'idempotency_key_reused',
      undefined,
    ])
  }
  executed(await claim({ ...request, key: { ...key, tenantId: id(9) } }))
  executed(await claim({ ...request, key: { ...key, env: 'test' } }))
  executed(await open({ project: id(7) }).idempotency.claim(request))
})

test('an answer is replayed only to keys with all scopes of the key that executed', async () => {
  const scopes = Array.from({ length: 64 }, (_, at) => `${at}:${'ü'.repeat(190)}`)
  const request = payment({ key: { ...key, scopes } })
  await executed(await claim(request)).answered(...made)
  for (const enough of [scopes, [...scopes, 'more'].reverse()]) {
    const again = await claim({ ...request, key: { ...key, scopes: enough } })
    assert.ok(again.verdict === 'replay')
    assert.deepEqual(Object.keys(again.answer.headers).sort(), [
      'content-type',
      'idempotent-replayed',
      'location',
    ])
  }
  for (const few of [[], ['more'], scopes.slice(1), scopes.slice(0, -1)]) {
    const refusal = refused(await claim({ ...request, key: { ...key, scopes: few } }))
    assert.deepEqual(refusal, [403, 'insufficient_scope', undefined])
  }
})

test('a retry executes after an error, and after an answer that asks to come again', async () => {
  const request = payment()
  for (const status of [408, 425, 429, 500, 502]) {
    await executed(await claim(request)).answered(status, [], Buffer.from('not now'))
  }
  await executed(await claim(request)).answered(409, [['Retry-After', 5]], Buffer.from('not now'))
  await executed(await claim(request)).answered(503, [], Buffer.from('away'))
  await executed(await claim(request)).release()
  await executed(await claim(request)).answered(404, [], Buffer.from(''))
  assert.equal((await claim(request)).verdict, 'replay')
})

test('an answer too large to keep, in body or header, is neither replayed nor executed again', async () => {
  for (const [headers, body] of [
    [[], null],
    [[['x-long', 'x'.repeat(4_097)]], Buffer.from('')],
    [[['x'.repeat(129), 'x']], Buffer.from('')],
  ] as [[string, string][], Buffer | null][]) {
    const request = payment()
    await executed(await claim(request)).answered(200, headers, body)
    assert.deepEqual(refused(await claim(request)), [409, 'idempotency_not_replayable', undefined])
  }
})

test('heartbeats keep the claim of a slow request until it ends', async () => {
  const { timer, errors, idempotency } = open()
  const request = payment()
  const slow = executed(await idempotency.claim(request))
  const start = Date.now()
  try {
    for (let seconds = 10; seconds <= 60; seconds += 10) {
      await service.setStoreTime(new Date(start + seconds * 1_000))
      timer.pass(10_000)
      await until(() => timer.delays.length === 1, 'the next heartbeat is scheduled')
    }
    assert.equal(refused(await claim(request))[1], 'idempotency_in_progress')
    assert.equal(slow.taken.aborted, false)
    await slow.answered(...made)
    assert.deepEqual([timer.delays, errors], [[], []])
    assert.equal((await claim(request)).verdict, 'replay')
  } finally {
    await service.setStoreTime(null)
  }
})

test('a request that loses its claim aborts its signal, and changes nothing more', async () => {
  const { timer, idempotency } = open()
  const request = payment()
  const slow = executed(await idempotency.claim(request))
  try {
    await service.setStoreTime(new Date(Date.now() + 31_000))
    const other = executed(await claim(request))
    timer.pass(10_000)
    await until(() => slow.taken.aborted, 'the first is aborted')
    await slow.answered(200, [], Buffer.from('too late'))
    assert.equal(refused(await claim(request))[1], 'idempotency_in_progress')
    await other.answered(...made)
    const again = await claim(request)
    assert.ok(again.verdict === 'replay')
    assert.equal(Buffer.from(again.answer.body).toString(), '{"id":1}')
  } finally {
    await service.setStoreTime(null)
  }
})

test('a handler that exceeds its time loses its heartbeats', async () => {
  const { timer, idempotency } = open({ maxRunMs: 20_000 })
  const claimed = executed(await idempotency.claim(payment()))
  for (let beat = 0; beat < 2; beat++) {
    await until(() => timer.delays.length === 1, 'a heartbeat is scheduled')
    timer.pass(10_000)
  }
  await claimed.settled
  assert.deepEqual(timer.delays, [])
})

test('an end that cannot be reported is retried, and no retry executes meanwhile', async () => {
  let away = false
  const { timer, errors, idempotency } = open({
    fetch: (...asked) => (away ? Promise.reject(new Error('away')) : fetch(...asked)),
  })
  const request = payment()
  const first = executed(await idempotency.claim(request))
  away = true
  await first.answered(...made)
  assert.deepEqual(errors, ['network_error'])
  assert.equal(refused(await claim(request))[1], 'idempotency_in_progress')
  await until(() => timer.delays.length === 2, 'the retry and the heartbeat are scheduled')
  timer.pass(5_000)
  await until(() => errors.length === 2, 'the retry has failed')
  away = false
  await until(() => timer.delays.length === 2, 'it waits again')
  timer.pass(5_000)
  await idempotency.close()
  assert.equal((await claim(request)).verdict, 'replay')
  assert.deepEqual(timer.delays, [])
})

test('a request that cannot be claimed gets 503, or is executed with `allow`', async () => {
  for (const answer of [
    () => Promise.reject(new Error('away')),
    async () => new Response('<html>'),
    async () => Response.json({ object: 'idempotency_claim', verdict: 'perhaps' }),
    async () => Response.json({ object: 'idempotency_claim', verdict: 'execute' }),
    async () => Response.json({ object: 'idempotency_claim', verdict: 'replay', response: { status: 99 } }),
  ]) {
    const denying = open({ fetch: answer })
    const verdict = await denying.idempotency.claim(payment())
    assert.deepEqual(refused(verdict), [503, 'idempotency_unavailable', '1'])
    assert.equal(denying.errors.length, 1)
    const allowing = open({ fetch: answer, onUnavailable: 'allow' })
    assert.deepEqual(await allowing.idempotency.claim(payment()), { verdict: 'unprotected' })
  }
})

test('while the service hangs one claim at a time is sent, and the others are decided at once', async () => {
  let calls = 0
  const hang = () => {
    calls++
    return new Promise<Response>(() => {})
  }
  const { idempotency, errors } = open({ fetch: hang, timeoutMs: 20 })
  for (let request = 0; request < 5; request++) await idempotency.claim(payment())
  const verdicts = await Promise.all(Array.from({ length: 20 }, () => idempotency.claim(payment())))
  for (const verdict of verdicts) assert.equal(refused(verdict)[1], 'idempotency_unavailable')
  assert.deepEqual([calls, errors.length], [6, 6])
})

test('a refusal by the service is no outage, and a refused key claims nothing', async () => {
  const revoked = async () => Response.json({ code: 'unauthenticated' }, { status: 401 })
  const { idempotency, errors } = open({ fetch: revoked, onUnavailable: 'allow' })
  assert.deepEqual(refused(await idempotency.claim(payment())), [503, 'idempotency_unavailable', '1'])
  for (const key of [undefined, refusals.unknown_key, { ...payment().key, tenantId: undefined }] as never[]) {
    const verdict = await idempotency.claim(payment({ key }))
    assert.deepEqual(refused(verdict), [500, 'internal_error', undefined])
  }
  assert.deepEqual(errors, ['unauthenticated', 'misused', 'misused', 'misused'])
})

test('an invalid Idempotency-Key is refused without a call', async () => {
  const { idempotency } = open({ fetch: () => assert.fail('asked') })
  for (const idempotencyKey of ['', 'x'.repeat(256), 'a\nb', 'käse']) {
    const verdict = await idempotency.claim(payment({ idempotencyKey }))
    assert.deepEqual(refused(verdict), [400, 'idempotency_key_invalid', undefined])
  }
})

test('a wrong option is an error at startup that shows no secret', () => {
  const secretKey = drawKey('krsk_live')
  for (const [name, wrong] of [
    ['project', 'x'],
    ['ttlMs', 59_999],
    ['maxBodyBytes', 4_718_593],
    ['maxRunMs', 9_999],
    ['timeoutMs', 0],
    ['onUnavailable', true],
    ['onError', 1],
    ['ttl', 60_000],
  ] as const) {
    assert.throws(
      () => createIdempotency({ ...settings, secretKey, [name]: wrong } as IdempotencyOptions),
      (error: Error) =>
        error instanceof TypeError && error.message.includes(name) && !error.message.includes(secretKey),
    )
  }
})

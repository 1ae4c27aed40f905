import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { fingerprintA, fingerprintB, newScope, openCalls } from '../../test/idempotency-calls.ts'
import { makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { claim, complete, release, heartbeat } = openCalls(ask, vendor.live)

/** The store's time at the start of a test. */
const start = new Date('2030-01-01T00:00:00.000Z')
const at = (milliseconds: number) => harness.setStoreTime(new Date(start.getTime() + milliseconds))
const times = (test: () => Promise<void>) => async () => {
  await at(0)
  await test().finally(() => harness.setStoreTime(null))
}

test(
  'the first claim executes, the next waits, and after the completion the answer is replayed',
  times(async () => {
    const scope = newScope()
    const { lock_token, ...first } = await claim(scope)
    assert.match(lock_token, /^[\w-]{32}$/)
    assert.deepEqual(first, {
      object: 'idempotency_claim',
      verdict: 'execute',
      lock_expires_at: '2030-01-01T00:00:30.000Z',
    })
    await at(1_234)
    assert.deepEqual(await claim(scope), {
      object: 'idempotency_claim',
      verdict: 'in_progress',
      retry_after_ms: 28_766,
    })
    const answer = { status: 201, headers: { 'Content-Type': 'text/plain', b: '' }, body: 'b2s=' }
    assert.deepEqual(await complete(scope, lock_token, answer), {
      object: 'idempotency_complete',
      verdict: 'completed',
    })
    for (const scopeHash of [scope, scope.toUpperCase()])
      assert.deepEqual(await claim(scopeHash, { fingerprint: fingerprintA.toUpperCase() }), {
        object: 'idempotency_claim',
        verdict: 'replay',
        response: answer,
      })
  }),
)

test(
  'a different request under the same scope is a mismatch, in every state of the record',
  times(async () => {
    const scope = newScope()
    const other = () => claim(scope, { fingerprint: fingerprintB })
    const mismatch = { object: 'idempotency_claim', verdict: 'mismatch' }
    const { lock_token } = await claim(scope)
    assert.deepEqual(await other(), mismatch, 'while it runs')
    await at(30_000)
    assert.deepEqual(await other(), mismatch, 'when its lock has ended')
    await complete(scope, lock_token)
    assert.deepEqual(await other(), mismatch, 'when it is not replayable')
    await at(30_000 + 86_400_000)
    assert.equal((await other()).verdict, 'execute', 'when it is over')
  }),
)

for (const [ms, verdict] of [
  [29_999, 'in_progress'],
  [30_000, 'execute'],
  [30_001, 'execute'],
] as const) {
  test(
    `a claim ${ms} ms after the first is answered ${verdict}`,
    times(async () => {
      const scope = newScope()
      const first = await claim(scope)
      await at(ms)
      const second = await claim(scope)
      assert.equal(second.verdict, verdict)
      if (verdict === 'in_progress') assert.equal(second.retry_after_ms, 1)
      else assert.notEqual(second.lock_token, first.lock_token)
    }),
  )
}

test(
  'a heartbeat extends the lock to 30 s from now, even after its end if no claim took over',
  times(async () => {
    const scope = newScope()
    const { lock_token } = await claim(scope)
    await at(29_999)
    assert.deepEqual(await heartbeat(scope, lock_token), {
      object: 'idempotency_heartbeat',
      verdict: 'extended',
      lock_expires_at: '2030-01-01T00:00:59.999Z',
    })
    await at(59_998)
    assert.equal((await claim(scope)).verdict, 'in_progress')
    await at(70_000)
    assert.equal((await heartbeat(scope, lock_token)).verdict, 'extended')
    assert.equal((await claim(scope)).retry_after_ms, 30_000)
    await complete(scope, lock_token)
    assert.equal((await heartbeat(scope, lock_token)).verdict, 'lost', 'after the answer')
  }),
)

test(
  'a record lives for its time to live, from its claim and again from its answer',
  times(async () => {
    const answered = newScope()
    const { lock_token } = await claim(answered, { ttl_ms: 60_000 })
    await at(10_000)
    await complete(answered, lock_token, { body: '' })
    await at(69_999)
    assert.equal((await claim(answered)).verdict, 'replay')
    await at(70_000)
    assert.equal((await claim(answered, { fingerprint: fingerprintB })).verdict, 'execute')

    const longer = newScope()
    const second = await claim(longer, { ttl_ms: 60_000 })
    await complete(longer, second.lock_token, { ttl_ms: 604_800_000 })
    await at(70_000 + 604_799_999)
    assert.equal((await claim(longer)).verdict, 'not_replayable')
    await at(70_000 + 604_800_000)
    assert.equal((await claim(longer)).verdict, 'execute')
  }),
)

test(
  'the default time to live is 24 hours',
  times(async () => {
    const scope = newScope()
    await complete(scope, (await claim(scope)).lock_token)
    await at(86_399_999)
    assert.equal((await claim(scope)).verdict, 'not_replayable')
    await at(86_400_000)
    assert.equal((await claim(scope)).verdict, 'execute')
  }),
)

test(
  'a request that is still executed keeps its record past the time to live',
  times(async () => {
    const scope = newScope()
    const { lock_token } = await claim(scope, { ttl_ms: 60_000 })
    for (const ms of [29_000, 58_000]) {
      await at(ms)
      assert.equal((await heartbeat(scope, lock_token)).verdict, 'extended')
    }
    await at(87_999)
    assert.equal((await claim(scope)).verdict, 'in_progress')
    assert.equal((await claim(scope, { fingerprint: fingerprintB })).verdict, 'mismatch')
    await at(88_000)
    assert.equal((await claim(scope, { fingerprint: fingerprintB })).verdict, 'execute')
  }),
)

test('an answer without a body is not replayable, and its status is returned', async () => {
  const scope = newScope()
  const { lock_token } = await claim(scope)
  await complete(scope, lock_token, { status: 503, headers: { a: 'b' }, body: null })
  assert.deepEqual(await claim(scope), {
    object: 'idempotency_claim',
    verdict: 'not_replayable',
    status: 503,
  })
})

test('a repeated completion is answered like the first, and changes nothing', async () => {
  const scope = newScope()
  const { lock_token } = await claim(scope)
  const answer = { status: 200, headers: { a: 'first' }, body: 'AAAA' }
  await complete(scope, lock_token, answer)
  const rows = () =>
    query(
      `select to_jsonb(c) as c, to_jsonb(b) as b from idempotency_claims c
      join idempotency_bodies b using (workspace_id, env, scope_hash) where c.scope_hash = $1`,
      [Buffer.from(scope, 'hex')],
    )
  const before = await rows()
  const large = { status: 500, headers: { a: 'second' }, body: 'A'.repeat(200_000), ttl_ms: 60_000 }
  for (const again of [answer, large, { status: 404, body: null }])
    assert.equal((await complete(scope, lock_token, again)).verdict, 'completed')
  assert.deepEqual(await rows(), before)
  assert.deepEqual((await claim(scope)).response, answer)
})

test('any request may execute a released record', async () => {
  const scope = newScope()
  const { lock_token } = await claim(scope)
  assert.deepEqual(await release(scope, lock_token), { object: 'idempotency_release', verdict: 'released' })
  assert.equal((await release(scope, lock_token)).verdict, 'lost')
  const second = await claim(scope, { fingerprint: fingerprintB })
  assert.equal(second.verdict, 'execute')
  assert.equal((await complete(scope, lock_token)).verdict, 'lost')
  await complete(scope, second.lock_token)
  assert.equal((await release(scope, second.lock_token)).verdict, 'lost', 'after the answer')
})

test('bodies of every size and byte are replayed unchanged', async () => {
  const every = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
  for (const size of [0, 1, 2, 3, 256, 65_535, 65_536, 65_537, 1_048_577, 4_718_592]) {
    const scope = newScope()
    const body = Buffer.alloc(size, every).toString('base64')
    await complete(scope, (await claim(scope)).lock_token, { body, headers: { 'x-size': `${size}` } })
    const { response } = await claim(scope)
    assert.ok(response.body === body, `${size} bytes`)
    assert.deepEqual(response.headers, { 'x-size': `${size}` })
  }
})

test('headers are replayed unchanged, whatever their number and names', async () => {
  const scope = newScope()
  const many = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`X-${i}`, 'é"\\ 😀'.repeat(20)]))
  const headers = JSON.parse(`{"__proto__":"a","constructor":"b",${JSON.stringify(many).slice(1)}`)
  await complete(scope, (await claim(scope)).lock_token, { headers, body: 'AAAA' })
  assert.equal(JSON.stringify((await claim(scope)).response.headers), JSON.stringify(headers))
})

test('workspaces and environments have separate records', async () => {
  const scope = newScope()
  const other = openCalls(ask, (await makeVendor(harness)).live)
  const trial = openCalls(ask, vendor.test)
  const tokens = [
    (await claim(scope)).lock_token,
    (await claim(scope, { env: 'test' })).lock_token,
    (await other.claim(scope)).lock_token,
  ]
  assert.equal(new Set(tokens).size, 3)
  assert.ok(tokens.every(token => token !== undefined))
  assert.equal((await trial.claim(scope, { env: 'test' })).verdict, 'in_progress')
  const [mine = '', test = '', theirs = ''] = tokens
  for (const [calls, token, env] of [
    [openCalls(ask, vendor.live), theirs, 'live'],
    [openCalls(ask, vendor.live), mine, 'test'],
    [trial, mine, 'test'],
    [other, mine, 'live'],
    [other, test, 'test'],
  ] as const) {
    assert.equal((await calls.heartbeat(scope, token, { env })).verdict, 'lost')
    assert.equal((await calls.release(scope, token, { env })).verdict, 'lost')
    assert.equal((await calls.complete(scope, token, { env, body: 'AAAA' })).verdict, 'lost')
  }
  assert.equal((await trial.complete(scope, test, { env: 'test', body: 'AAAA' })).verdict, 'completed')
  assert.equal((await claim(scope)).verdict, 'in_progress')
  const held = { scope_hash: scope, env: 'live', lock_token: mine }
  for (const [name, body] of Object.entries({
    claim: { scope_hash: scope, env: 'live', fingerprint: fingerprintA },
    complete: { ...held, status: 200 },
    release: held,
    heartbeat: held,
  })) {
    const asked = { token: vendor.test, body }
    const { status, body: problem } = await ask('POST', `/v1/idempotency/${name}`, asked)
    assert.deepEqual([status, problem.code], [403, 'env_mismatch'])
  }
})

test('no call writes an audit row, waits for the audit head or logs its content', async () => {
  const heads = () => query('select * from audit_heads order by workspace_id')
  const before = await heads()
  const scope = newScope()
  const secret = Buffer.from('the body of an answer').toString('base64')
  const logged = harness.logged.length
  await query('begin')
  try {
    await query('select from audit_heads for update')
    const { lock_token } = await claim(scope)
    await heartbeat(scope, lock_token)
    await complete(scope, lock_token, { headers: { 'x-secret': 'of-a-header' }, body: secret })
    await claim(scope)
    await release(scope, lock_token)
    const lines = harness.logged.slice(logged).join('')
    assert.ok(lines.includes('/v1/idempotency/complete'))
    for (const text of [scope, lock_token, fingerprintA, secret, 'of-a-header', 'the body of'])
      assert.ok(!lines.includes(text), text)
  } finally {
    await query('rollback')
  }
  assert.deepEqual(await heads(), before)
})

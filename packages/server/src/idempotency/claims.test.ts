import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { type Harness, startHarness } from '../../test/harness.ts'
import { fingerprintA, fingerprintB, newScope, openCalls } from '../../test/idempotency-calls.ts'
import { makeVendor } from '../../test/vendor.ts'
import { buildApp } from '../app.ts'
import { openDeps } from '../deps.ts'
import type { Claim } from './claims.ts'
import { judge, type SeenRecord, type Verdict } from './verdict.ts'

const harness = await startHarness()
const { query, deps } = harness
const vendor = await makeVendor(harness)

/** To the store, a second process of the same service. */
let second: { app: FastifyInstance; close(): Promise<void> }
before(async () => {
  const { config, log, connection, clock, budgets } = { ...deps, clock: harness.clock }
  const own = await openDeps({ config, log, connection, clock, randomBytes, budgets })
  const app = await buildApp(own)
  second = {
    app,
    async close() {
      await app.close()
      await own.close()
    },
  }
})
after(() => second.close())

const asked = (scopeHash: string, fingerprint = fingerprintA): Claim => ({
  workspaceId: vendor.workspaceId,
  env: 'live',
  scopeHash,
  fingerprint,
  lockToken: randomBytes(24).toString('base64url'),
  ttlMs: 86_400_000,
})
const count = (verdicts: readonly (string | undefined)[]) => {
  const counts: Record<string, number> = {}
  for (const verdict of verdicts) counts[String(verdict)] = (counts[String(verdict)] ?? 0) + 1
  return counts
}
const tokenOf = async (scope: string) =>
  (await query('select * from idempotency_claims where scope_hash = $1', [Buffer.from(scope, 'hex')]))[0]
    ?.lock_token

for (const [n, rounds] of [
  [2, 50],
  [10, 20],
  [300, 2],
] as const) {
  test(`exactly one of ${n} simultaneous claims executes, through one process or two`, async () => {
    const one = openCalls(harness.ask, vendor.live)
    const two = openCalls(askOf(second.app), vendor.live)
    for (let round = 0; round < rounds; round++) {
      for (const processes of [[one], [one, two]]) {
        const scope = newScope()
        const heard = await Promise.all(
          Array.from({ length: n }, (_, i) => processes[i % processes.length]?.claim(scope)),
        )
        const verdicts = heard.map(body => body.verdict)
        assert.deepEqual(count(verdicts), { execute: 1, in_progress: n - 1 })
        const winner = heard.find(body => body.verdict === 'execute')
        assert.equal(await tokenOf(scope), winner.lock_token)
      }
    }
  })
}

test('one of two kinds of requests executes; its own kind waits, the other is a mismatch', async () => {
  const { claims } = deps.idempotency
  for (let round = 0; round < 20; round++) {
    const scope = newScope()
    const others = newScope()
    const verdicts = await Promise.all([
      ...Array.from({ length: 9 }, (_, i) => claims.run(asked(scope, i % 3 ? fingerprintB : fingerprintA))),
      claims.run(asked(others)),
    ])
    assert.equal(verdicts.at(-1)?.verdict, 'execute', 'another record in the batch')
    assert.deepEqual(count(verdicts.slice(0, -1).map(verdict => verdict?.verdict)), {
      execute: 1,
      in_progress: 2,
      mismatch: 6,
    })
  }
})

test('upper-case and lower-case digits of a scope name one record, even within one batch', async () => {
  const { claim } = openCalls(harness.ask, vendor.live)
  for (let round = 0; round < 10; round++) {
    const scope = newScope()
    const heard = await Promise.all([scope, scope.toUpperCase(), scope].map(spelt => claim(spelt)))
    assert.deepEqual(count(heard.map(body => body.verdict)), { execute: 1, in_progress: 2 })
  }
})

test('a claim that may take over is not blocked by a different request in the same batch', async () => {
  const scope = newScope()
  const { claims } = deps.idempotency
  const start = Date.now()
  await harness.setStoreTime(new Date(start))
  try {
    await claims.run(asked(scope, fingerprintB))
    await harness.setStoreTime(new Date(start + 30_000))
    const [first, own] = await Promise.all([
      claims.run(asked(scope)),
      claims.run(asked(scope, fingerprintB)),
      claims.run(asked(scope)),
    ])
    assert.deepEqual([first?.verdict, own], ['mismatch', null])
    const { claim } = openCalls(harness.ask, vendor.live)
    const again = await Promise.all([claim(scope), claim(scope, { fingerprint: fingerprintB })])
    assert.deepEqual(
      again.map(body => body.verdict),
      ['mismatch', 'execute'],
    )
  } finally {
    await harness.setStoreTime(null)
  }
})

test('a claim that won still wins when it is sent again after a lost answer', async () => {
  const claim = asked(newScope())
  const verdict = await deps.idempotency.claims.run(claim)
  assert.equal(verdict?.verdict, 'execute')
  assert.deepEqual(await deps.idempotency.claims.run(claim), verdict)
})

test('a claim that finds a held record writes nothing, and does not wait for a row lock', async () => {
  const { claim } = openCalls(harness.ask, vendor.live)
  const scope = newScope()
  await claim(scope)
  const row = () =>
    query('select xmin::text, xmax::text, ctid::text from idempotency_claims where scope_hash = $1', [
      Buffer.from(scope, 'hex'),
    ])
  const found = await row()
  for (let i = 0; i < 5; i++) {
    assert.equal((await claim(scope)).verdict, 'in_progress')
    assert.equal((await claim(scope, { fingerprint: fingerprintB })).verdict, 'mismatch')
  }
  assert.deepEqual(await row(), found)
  await query('begin')
  await query('select from idempotency_claims where scope_hash = $1 for update', [Buffer.from(scope, 'hex')])
  try {
    assert.equal((await claim(scope)).verdict, 'in_progress')
  } finally {
    await query('rollback')
  }
})

test('the statement takes exactly the records that the rule in verdict.ts allows', async () => {
  const now = new Date('2031-01-01T00:00:00.000Z').getTime()
  const time = fc.constantFrom(now - 1, now, now + 1)
  const records = fc.record({
    fingerprint: fc.constantFrom(fingerprintA, fingerprintB),
    lockToken: fc.constantFrom('other-token'),
    lockedUntil: time,
    expiresAt: time,
    status: fc.option(fc.constant(200)),
    answerBytes: fc.option(fc.constant(7)),
  })
  await harness.setStoreTime(new Date(now))
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(records, { minLength: 1, maxLength: 20 }), async made => {
        const seen: SeenRecord[] = made.map(record =>
          record.status === null ? { ...record, answerBytes: null } : record,
        )
        const claims = seen.map(() => asked(newScope()))
        await put(seen, claims)
        const verdicts = await Promise.all(claims.map(claim => deps.idempotency.claims.run(claim)))
        const expected = seen.map(
          (record, i): Verdict =>
            judge(record, claims[i] as Claim, now) ?? { verdict: 'execute', lockedUntil: now + 30_000 },
        )
        assert.deepEqual(verdicts, expected)
      }),
      { numRuns: 40 },
    )
  } finally {
    await harness.setStoreTime(null)
  }
})

/** Writes the records that the claims will find, with times in the past. */
const put = (seen: readonly SeenRecord[], claims: readonly Claim[]) =>
  query(
    `insert into idempotency_claims (workspace_id, env, scope_hash, fingerprint, lock_token, claimed_at, locked_until,
       ttl_ms, expires_at, kept_until, status, answer_bytes)
     select $1, 'live', decode(r->>'scope', 'hex'), decode(r->>'fingerprint', 'hex'), r->>'lockToken', service_now(),
       to_timestamp((r->>'lockedUntil')::float8 / 1000), 60000, to_timestamp((r->>'expiresAt')::float8 / 1000),
       to_timestamp((r->>'expiresAt')::float8 / 1000), (r->>'status')::smallint, (r->>'answerBytes')::int
     from json_array_elements($2) r`,
    [
      vendor.workspaceId,
      JSON.stringify(seen.map((record, i) => ({ ...record, scope: claims[i]?.scopeHash }))),
    ],
  )

const askOf =
  (app: FastifyInstance): Harness['ask'] =>
  async (method, url, { token, body } = {}) => {
    const response = await app.inject({
      method: method as 'GET',
      url,
      headers: { authorization: `Bearer ${token}` },
      payload: body as object,
    })
    return { status: response.statusCode, headers: {}, body: response.json() }
  }

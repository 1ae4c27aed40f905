import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { fingerprintB, newScope, openCalls } from '../../test/idempotency-calls.ts'
import { makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)
const { claim, complete, release, heartbeat } = openCalls(harness.ask, vendor.live)

const large = 'AAAA'.repeat(50_000)
const rowsOf = (scope: string) =>
  query(
    `select to_jsonb(c) as claim, c.xmin::text, c.ctid::text, to_jsonb(b) as body
     from idempotency_claims c left join idempotency_bodies b using (workspace_id, env, scope_hash)
     where c.scope_hash = $1`,
    [Buffer.from(scope, 'hex')],
  )
const verdicts = (heard: readonly { verdict: string }[]) => heard.map(({ verdict }) => verdict)

/** Claims a record, and takes it over when its lock has ended. */
async function takenOver(): Promise<{ scope: string; old: string; token: string }> {
  const scope = newScope()
  const start = Date.now()
  await harness.setStoreTime(new Date(start))
  const { lock_token: old } = await claim(scope)
  await harness.setStoreTime(new Date(start + 30_000))
  const { lock_token: token } = await claim(scope)
  return { scope, old, token }
}

test('a token that was taken over completes, releases and extends nothing, at any later time', async () => {
  const { scope, old, token } = await takenOver()
  const stale = async () => [
    ...verdicts(await Promise.all([release(scope, old), heartbeat(scope, old)])),
    ...verdicts([
      await complete(scope, old, { status: 500, body: 'AAAA' }),
      await complete(scope, old, { status: 500, body: large }),
      await complete(scope, old, { status: 500 }),
    ]),
  ]
  const running = await rowsOf(scope)
  assert.deepEqual(await stale(), Array(5).fill('lost'))
  assert.deepEqual(await rowsOf(scope), running)
  assert.equal((await complete(scope, token, { body: 'b2s=' })).verdict, 'completed')
  const answered = await rowsOf(scope)
  assert.deepEqual(await stale(), Array(5).fill('lost'))
  assert.deepEqual(await rowsOf(scope), answered)
  assert.deepEqual((await claim(scope)).response, { status: 200, headers: {}, body: 'b2s=' })
  await harness.setStoreTime(null)
})

test('an unknown token is answered lost, whether the record exists or not', async () => {
  const scope = newScope()
  await claim(scope)
  for (const [where, token] of [
    [scope, '12345678'],
    [scope, 'x'.repeat(64)],
    [scope, "'; drop table idempotency_claims; --"],
    [scope, '{"\\,}NULL'],
    [newScope(), '12345678'],
  ] as const) {
    const heard = [await heartbeat(where, token), await release(where, token), await complete(where, token)]
    assert.deepEqual(verdicts(heard), ['lost', 'lost', 'lost'], token)
  }
})

test('a new claim of an expired record never replays the old answer', async () => {
  const scope = newScope()
  const start = Date.now()
  await harness.setStoreTime(new Date(start))
  const first = await claim(scope, { ttl_ms: 60_000 })
  await complete(scope, first.lock_token, { body: 'b2xk' })
  await harness.setStoreTime(new Date(start + 60_000))
  const second = await claim(scope, { fingerprint: fingerprintB })
  assert.equal((await complete(scope, first.lock_token, { body: 'b2xk' })).verdict, 'lost')
  await complete(scope, second.lock_token, { status: 204, body: null })
  assert.deepEqual(await claim(scope, { fingerprint: fingerprintB }), {
    object: 'idempotency_claim',
    verdict: 'not_replayable',
    status: 204,
  })
  await harness.setStoreTime(null)
})

test('a stored answer is read only with the token that it was stored with', async () => {
  const scope = newScope()
  const { lock_token: lockToken } = await claim(scope)
  await complete(scope, lockToken, { headers: { a: 'b' }, body: 'b2s=' })
  const ref = { workspaceId: vendor.workspaceId, env: 'live', scopeHash: scope, bytes: 11 } as const
  const { answers } = harness.deps.idempotency
  assert.deepEqual(await answers.run({ ...ref, lockToken }), { headers: { a: 'b' }, body: Buffer.from('ok') })
  for (const other of [
    { ...ref, lockToken: 'another-token' },
    { ...ref, lockToken, env: 'test' },
    { ...ref, lockToken, scopeHash: newScope() },
    { ...ref, lockToken, workspaceId: (await makeVendor(harness)).workspaceId },
  ] as const)
    assert.equal(await answers.run(other), null)
})

test('simultaneous ends of one holder take effect once: heartbeats share, one release frees', async () => {
  for (let round = 0; round < 10; round++) {
    const scope = newScope()
    const { lock_token } = await claim(scope)
    const beats = await Promise.all([1, 2, 3].map(() => heartbeat(scope, lock_token)))
    assert.deepEqual(verdicts(beats), ['extended', 'extended', 'extended'])
    const bodies = ['AAAA', 'BBBB', large, 'CCCC', large]
    const said = await Promise.all(bodies.map(body => complete(scope, lock_token, { body })))
    assert.deepEqual(new Set(verdicts(said)), new Set(['completed']))
    assert.ok(bodies.includes((await claim(scope)).response.body))

    const other = newScope()
    const held = await claim(other)
    const freed = await Promise.all([1, 2, 3].map(() => release(other, held.lock_token)))
    assert.deepEqual(verdicts(freed).toSorted(), ['lost', 'lost', 'released'])
  }
})

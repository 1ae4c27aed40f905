import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { fingerprintA, fingerprintB, newScope, openCalls } from '../../test/idempotency-calls.ts'
import { makeVendor } from '../../test/vendor.ts'
import { listedMax } from '../gate/listed-calls.ts'

const harness = await startHarness()
const { ask } = harness
const vendor = await makeVendor(harness)
const single = openCalls(ask, vendor.live)

const askMany = (calls: unknown, token = vendor.live) =>
  ask('POST', '/v1/idempotency/claims', { token, body: { calls } })
const claim = (scope_hash: string, more: object = {}) => ({
  claim: { scope_hash, env: 'live', fingerprint: fingerprintA, ...more },
})
const held = (scope_hash: string, lock_token: string, more: object = {}) => ({
  scope_hash,
  env: 'live',
  lock_token,
  ...more,
})
type Answered = {
  verdict?: string
  lock_token?: string
  error?: { code: string; errors: { path: string }[] }
}
const answersOf = async (calls: unknown[], token = vendor.live): Promise<Answered[]> => {
  const { status, body } = await askMany(calls, token)
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.object, 'idempotency_calls')
  return body.calls
}
const verdictsOf = (answers: Answered[]) => answers.map(({ verdict }) => verdict)

test('a list claims, extends, completes and frees as single calls do, on the same records', async () => {
  const [kept, freed] = [newScope(), newScope()]
  const claimed = await answersOf([
    claim(kept),
    claim(freed),
    claim(kept),
    claim(kept, { fingerprint: fingerprintB }),
  ])
  assert.deepEqual(verdictsOf(claimed), ['execute', 'execute', 'in_progress', 'mismatch'])
  const [one, other] = claimed.map(({ lock_token }) => lock_token) as [string, string]
  assert.deepEqual(verdictsOf(await answersOf([{ heartbeat: held(kept, one) }])), ['extended'])
  const ended = await answersOf([
    { complete: held(kept, one, { status: 201, headers: { a: 'b' }, body: 'b2s=' }) },
    { release: held(freed, other) },
    { release: held(freed, 'x'.repeat(32)) },
  ])
  assert.deepEqual(verdictsOf(ended), ['completed', 'released', 'lost'])
  const replay = { status: 201, headers: { a: 'b' }, body: 'b2s=' }
  assert.deepEqual((await single.claim(kept)).response, replay)
  assert.deepEqual(await answersOf([claim(kept)]), [
    { object: 'idempotency_claim', verdict: 'replay', response: replay },
  ])
  assert.equal((await single.claim(freed)).verdict, 'execute')
})

test('a call that is refused has its problem in its place, and the others are answered', async () => {
  const scope = newScope()
  const answers = await answersOf([
    claim('short'),
    7,
    null,
    {},
    { ...claim(scope), release: held(scope, 'x'.repeat(32)) },
    { claims: claim(scope).claim },
    { complete: held(scope, 'x'.repeat(32), { status: 200, body: 'not base64' }) },
    { complete: held(scope, 'x'.repeat(32), { status: 200, headers: { 'a b': '' } }) },
    { release: 7 },
    claim(scope, { surprise: 1 }),
    claim(scope),
  ])
  const paths = answers.map(({ error }) => error?.errors[0]?.path)
  assert.deepEqual(paths, [
    'calls.0.claim.scope_hash',
    ...['calls.1', 'calls.2', 'calls.3', 'calls.4', 'calls.5'],
    'calls.6.complete.body',
    'calls.7.complete.headers.a b',
    'calls.8.release',
    'calls.9.claim.surprise',
    undefined,
  ])
  assert.equal(answers.at(-1)?.verdict, 'execute', 'the refused calls claimed nothing')
})

test('what the credential may not reach is refused call by call', async () => {
  const scope = newScope()
  const [live, own] = await answersOf([claim(scope), claim(scope, { env: 'test' })], vendor.test)
  assert.equal(live?.error?.code, 'env_mismatch')
  assert.equal(own?.verdict, 'execute')
})

test('a stored answer that is too large for a list is left to a claim by itself', async () => {
  const [small, large] = [newScope(), newScope()]
  for (const [scope, bytes] of [
    [small, 60_000],
    [large, 70_000],
  ] as const) {
    const { lock_token } = await single.claim(scope)
    const body = Buffer.alloc(bytes).toString('base64')
    assert.equal((await single.complete(scope, lock_token, { body })).verdict, 'completed')
  }
  assert.deepEqual(verdictsOf(await answersOf([claim(small), claim(large)])), ['replay', 'replay_alone'])
  assert.equal((await single.claim(large)).verdict, 'replay')
})

test('a list of none, of more than 100 or of another form is refused whole', async () => {
  for (const calls of [[], Array.from({ length: 101 }, () => claim(newScope())), 'all', { 0: 1 }]) {
    const { status, body } = await askMany(calls)
    assert.deepEqual([status, body.code, body.errors[0].path], [400, 'validation_failed', 'calls'])
  }
  const full = await answersOf(Array.from({ length: 100 }, () => claim(newScope())))
  assert.deepEqual(new Set(verdictsOf(full)), new Set(['execute']))
})

test('a workspace with all the listed calls that it may have gets 429, and others are served', async () => {
  const other = await makeVendor(harness)
  const end = harness.deps.listedClaims.enter(vendor.workspaceId, listedMax)
  const refused = await askMany([claim(newScope())])
  assert.deepEqual([refused.status, refused.body.code], [429, 'too_many_in_flight'])
  assert.deepEqual(verdictsOf(await answersOf([claim(newScope())], other.live)), ['execute'])
  assert.equal((await single.claim(newScope())).verdict, 'execute')
  end()
  for (let n = 0; n < 30; n++) await answersOf(Array.from({ length: 100 }, () => 7))
})

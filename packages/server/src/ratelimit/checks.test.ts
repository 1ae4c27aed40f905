import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeVendor, type Vendor } from '../../test/vendor.ts'
import { ListedCalls, listedMax } from '../gate/listed-calls.ts'

const harness = await startHarness()
const { ask } = harness

const limits = (limit = 3) => [{ id: 'minute', limit, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }]
const checkOf = (vendor: Vendor, keyId = randomUUID(), more: object = {}) => ({
  project_id: vendor.projectId,
  env: 'live',
  key_id: keyId,
  limits: limits(),
  ...more,
})
const askMany = (vendor: Vendor, checks: unknown, token = vendor.live) =>
  ask('POST', '/v1/ratelimit/checks', { token, body: { checks } })
const allowedOf = ({ body }: { body: { checks: { allowed?: boolean }[] } }) =>
  body.checks.map(({ allowed }) => allowed)

test('a list is charged in its order, each check by itself, on the counters of single checks', async () => {
  const vendor = await makeVendor(harness)
  const [hot, other] = [randomUUID(), randomUUID()]
  const list = [hot, other, hot, hot, hot, other].map(id => checkOf(vendor, id))
  const answer = await askMany(vendor, list)
  assert.equal(answer.status, 200)
  assert.equal(answer.body.object, 'ratelimit_checks')
  assert.deepEqual(allowedOf(answer), [true, true, true, true, false, true])
  assert.deepEqual(
    answer.body.checks.map(({ limits: [state] }: { limits: { remaining: number }[] }) => state?.remaining),
    [2, 2, 1, 0, 0, 1],
  )
  const single = await ask('POST', '/v1/ratelimit/check', {
    token: vendor.live,
    body: checkOf(vendor, other),
  })
  assert.equal(single.body.limits[0].remaining, 0)
  assert.deepEqual(Object.keys(answer.body.checks[0]).toSorted(), Object.keys(single.body).toSorted())
})

test('a check that is refused has its problem in its place, and the others are charged', async () => {
  const [vendor, stranger] = [await makeVendor(harness), await makeVendor(harness)]
  const keyId = randomUUID()
  const answer = await askMany(vendor, [
    checkOf(vendor, keyId),
    checkOf(vendor, keyId, { cost: 1_001 }),
    checkOf(vendor, keyId, { limits: [] }),
    7,
    null,
    checkOf(vendor, keyId, { surprise: 1 }),
    checkOf(vendor, keyId),
  ])
  const paths = answer.body.checks.map(
    ({ error }: { error?: { errors: { path: string }[] } }) => error?.errors[0]?.path,
  )
  assert.deepEqual(paths, [
    undefined,
    'checks.1.cost',
    'checks.2.limits',
    'checks.3',
    'checks.4',
    'checks.5.surprise',
    undefined,
  ])
  const { error } = answer.body.checks[1]
  assert.deepEqual([error.status, error.code], [400, 'validation_failed'])
  assert.match(error.request_id, /^req_[0-9a-f]+$/)
  assert.equal(answer.body.checks[6].limits[0].remaining, 1)

  // Counters are named by the caller's workspace: the project of another one is a name, as in a single check.
  const foreign = await askMany(vendor, [checkOf(stranger, keyId)])
  assert.equal(foreign.body.checks[0].limits[0].remaining, 2)
})

test('a key of one project gets the same answer for another project and for a missing one', async () => {
  const vendor = await makeVendor(harness)
  const made = await ask('POST', '/v1/projects', {
    token: vendor.live,
    body: { name: 'Other', slug: 'other' },
  })
  const key = await ask('POST', '/v1/secret_keys', {
    token: vendor.live,
    body: {
      name: 'node',
      env: 'live',

      permissions: ['ratelimit:check'],
      project_ids: [vendor.projectId],
    },
  })
  assert.deepEqual([made.status, key.status], [201, 201], JSON.stringify([made.body, key.body]))
  const ids = [vendor.projectId, made.body.id, randomUUID()]
  const { body } = await askMany(
    vendor,
    ids.map(id => checkOf(vendor, undefined, { project_id: id })),
    key.body.key,
  )
  const [own, ...others] = body.checks
  assert.equal(own.allowed, true)
  assert.deepEqual(
    others.map(({ error }: { error: { code: string; detail: string } }) => [error.code, error.detail]),
    Array.from({ length: 2 }, () => ['not_found', others[0].error.detail]),
  )
})

test('what the credential may not reach is refused check by check', async () => {
  const vendor = await makeVendor(harness)
  const answer = await askMany(
    vendor,
    [checkOf(vendor, undefined, { env: 'live' }), checkOf(vendor, undefined, { env: 'test' })],
    vendor.test,
  )
  assert.equal(answer.body.checks[0].error.code, 'env_mismatch')
  assert.equal(answer.body.checks[1].allowed, true)
})

test('a list of none, of more than 100 or of another form is refused whole, uncharged', async () => {
  const vendor = await makeVendor(harness)
  const keyId = randomUUID()
  for (const checks of [[], Array.from({ length: 101 }, () => checkOf(vendor, keyId)), 'all', { 0: 1 }]) {
    const { status, body } = await askMany(vendor, checks)
    assert.deepEqual([status, body.code, body.errors[0].path], [400, 'validation_failed', 'checks'])
  }
  const full = await askMany(
    vendor,
    Array.from({ length: 100 }, () => checkOf(vendor, keyId, { limits: limits(100) })),
  )
  assert.deepEqual(new Set(allowedOf(full)), new Set([true]))
  assert.equal(full.body.checks[99].limits[0].remaining, 0)
})

test('the lists of one workspace take a bounded part of the queue, beside any other', () => {
  const listed = new ListedCalls()
  const ends = Array.from({ length: listedMax / 100 }, () => listed.enter('one', 100))
  assert.throws(() => listed.enter('one', 1), { code: 'too_many_in_flight' })
  listed.enter('other', 100)()
  ends[0]?.()
  const end = listed.enter('one', 100)
  assert.throws(() => listed.enter('one', 1), { code: 'too_many_in_flight' })
  for (const one of [...ends.slice(1), end]) one()
  listed.enter('one', listedMax)()
})

test('a workspace with all the listed checks that it may have gets 429, and later none', async () => {
  const [vendor, other] = [await makeVendor(harness), await makeVendor(harness)]
  const end = harness.deps.listedChecks.enter(vendor.workspaceId, listedMax)
  const refused = await askMany(vendor, [checkOf(vendor)])
  assert.deepEqual([refused.status, refused.body.code], [429, 'too_many_in_flight'])
  assert.equal((await askMany(other, [checkOf(other)])).status, 200)
  assert.equal(
    (await ask('POST', '/v1/ratelimit/check', { token: vendor.live, body: checkOf(vendor) })).status,
    200,
  )
  end()
  // A list that is answered, whatever it answers, leaves nothing behind.
  for (let n = 0; n < 30; n++)
    assert.equal(
      (
        await askMany(
          vendor,
          Array.from({ length: 100 }, () => 7),
        )
      ).status,
      200,
    )
})

test('a check that names its node is told how many nodes check, and no other check is', async () => {
  const [vendor, other] = [await makeVendor(harness), await makeVendor(harness)]
  const nodesOf = async (node: string, of = vendor, more: object = {}) => {
    const asked = { token: of.live, headers: { 'keyrail-node': node } }
    return await ask('POST', '/v1/ratelimit/check', { ...asked, body: checkOf(of, randomUUID(), more) })
  }
  for (const [node, nodes, more] of [
    ['api-1:4211.x', 1],
    ['api-2:4211.y', 2],
    ['api-1:4211.x', 2],
    ['api-3', 1, { env: 'test' }],
    ['not a node', undefined],
    ['x'.repeat(129), undefined],
  ] as const) {
    const { status, body } = await nodesOf(node, vendor, more)
    assert.deepEqual([status, body.nodes], [200, nodes], node)
  }
  assert.equal((await nodesOf('api-1', other)).body.nodes, 1)
  const asked = { token: vendor.live, body: { checks: [checkOf(vendor), checkOf(vendor)] } }
  const unnamed = await ask('POST', '/v1/ratelimit/checks', asked)
  const named = await ask('POST', '/v1/ratelimit/checks', { ...asked, headers: { 'keyrail-node': 'api-4' } })
  const nodes = ({ body }: typeof named) => body.checks.map((check: { nodes?: number }) => check.nodes)
  assert.deepEqual(
    [nodes(unnamed), nodes(named)],
    [
      [undefined, undefined],
      [3, 3],
    ],
  )
})

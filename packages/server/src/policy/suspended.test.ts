import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFeed, changesOf, idsOf } from '../../test/feed.ts'
import { FeedNode } from '../../test/feed-node.ts'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeTenant, makeVendor, type Vendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask } = harness
const get = askFeed(harness)
const knows = '&features=suspended'

const tell = async ({ live }: Vendor, id: string, verb: 'suspend' | 'resume') => {
  const { status } = await ask('POST', `/v1/tenants/${id}/${verb}`, { token: live })
  assert.equal(status, 200)
}
const call = async ({ live }: Vendor, path: string, body = {}) =>
  (await ask('POST', `/v1/${path}`, { token: live, body })).body

/** A vendor with two tenants, each with a key of live and one of test. */
async function setUp() {
  const vendor = await makeVendor(harness)
  const tenants = [vendor.tenantId, (await makeTenant(harness, vendor)).id]
  const keys: { tenantId: string; env: string; id: string }[] = []
  for (const tenantId of tenants) {
    for (const env of ['live', 'test'])
      keys.push({ tenantId, env, id: (await issueKey(harness, vendor, { tenant_id: tenantId, env })).id })
  }
  const [suspended = '', other = ''] = tenants
  return { vendor, suspended, other, keys }
}

test('a snapshot lists the suspended tenants alone, unless a feature says something of all', async () => {
  const { vendor, suspended, other, keys } = await setUp()
  await tell(vendor, suspended, 'suspend')
  const { body } = await get(vendor, 'snapshot', knows)
  assert.deepEqual(
    [body.features, body.tenants],
    [['suspended'], [{ tenant_id: suspended, suspended: true }]],
  )
  assert.deepEqual(idsOf(body), keys.map(({ id }) => id).toSorted())
  const { tenants } = (await get(vendor, 'snapshot', '&features=suspended,external_id')).body
  assert.deepEqual(
    tenants.map((tenant: Record<string, unknown>) => [tenant.tenant_id, tenant.suspended]),
    [
      [suspended, true],
      [other, undefined],
    ],
  )
  assert.deepEqual((await get(vendor, 'snapshot', '&features=external_id')).body.tenants.length, 1)
})

test('a suspended tenant is listed once in a page, with the first of its keys', async () => {
  const { vendor, suspended, other } = await setUp()
  for (const id of [suspended, other]) await tell(vendor, id, 'suspend')
  const pages = []
  for (let cursor = ''; ; cursor = `&cursor=${pages.at(-1).next_cursor}`) {
    pages.push((await get(vendor, 'snapshot', `${knows}&max_keys=3${cursor}`)).body)
    if (pages.at(-1).next_cursor === null) break
  }
  assert.deepEqual(
    pages.map(({ tenants }) => tenants.map(({ tenant_id }: { tenant_id: string }) => tenant_id)),
    [[suspended, other], [other]],
  )
})

test('a delta says of a tenant that it is suspended, and then that it is not', async () => {
  const { vendor, suspended } = await setUp()
  const first = (await get(vendor, 'snapshot', knows)).body.version
  await tell(vendor, suspended, 'suspend')
  const gone = (await get(vendor, 'delta', `${knows}&since=${first}`)).body
  assert.deepEqual([gone.object, gone.version, gone.changes], ['policy_delta', first + 1, []])
  assert.deepEqual(gone.tenants, [{ tenant_id: suspended, suspended: true }])
  await tell(vendor, suspended, 'resume')
  const back = (await get(vendor, 'delta', `${knows}&since=${gone.version}`)).body
  assert.deepEqual([back.changes, back.tenants], [[], [{ tenant_id: suspended }]])
})

test('a key that comes back has its tenant beside it, whatever the node knew', async () => {
  const { vendor, suspended, keys } = await setUp()
  const own = keys.filter(({ tenantId }) => tenantId === suspended).map(({ id }) => id)
  const node = new FeedNode(harness, { features: ['suspended'] })
  await tell(vendor, suspended, 'suspend')
  await node.poll(vendor, 10)
  for (const id of own) await call(vendor, `keys/${id}/disable`)
  await node.poll(vendor, 10)
  // The node may remember the tenant here, though it sees none of its keys.
  await tell(vendor, suspended, 'resume')
  const { body } = await get(vendor, 'delta', `${knows}&since=${node.since}`)
  assert.deepEqual(body.tenants, [])
  await node.poll(vendor, 10)
  for (const id of own) await call(vendor, `keys/${id}/enable`)
  const back = (await get(vendor, 'delta', `${knows}&since=${node.since}`)).body
  assert.deepEqual(back.tenants, [{ tenant_id: suspended }])
})

test('to a node that does not know suspensions, the keys go and come back by a snapshot', async () => {
  const { vendor, suspended, keys } = await setUp()
  for (const more of ['', '&features=external_id', '&features=later']) {
    const first = (await get(vendor, 'snapshot', more)).body
    assert.equal(first.keys.length, 4)
    await tell(vendor, suspended, 'suspend')
    const gone = (await get(vendor, 'delta', `${more}&since=${first.version}`)).body
    assert.equal(gone.object, 'policy_snapshot')
    const others = keys.filter(({ tenantId }) => tenantId !== suspended).map(({ id }) => id)
    assert.deepEqual(idsOf(gone), others.toSorted())
    const issued = await issueKey(harness, vendor, { tenant_id: suspended })
    const more2 = (await get(vendor, 'delta', `${more}&since=${gone.version}`)).body
    assert.deepEqual(changesOf(more2), [['tombstone', issued.id]])
    assert.equal(more2.changes[0].cause, 'suspended')
    await call(vendor, `keys/${issued.id}/revoke`)
    const dead = (await get(vendor, 'delta', `${more}&since=${more2.version}`)).body
    assert.equal(dead.changes[0].cause, 'revoked')
    await tell(vendor, suspended, 'resume')
    const back = (await get(vendor, 'delta', `${more}&since=${dead.version}`)).body
    assert.equal(back.object, 'policy_snapshot')
    assert.deepEqual(idsOf(back).toSorted(), keys.map(({ id }) => id).toSorted())
    assert.equal((await get(vendor, 'delta', `${more}&since=${back.version}`)).body.object, 'policy_delta')
  }
})

test('a tombstone says suspended before expired, and to a node that knows it what remains', async () => {
  const { vendor, suspended } = await setUp()
  const { version } = (await get(vendor, 'snapshot')).body
  await tell(vendor, suspended, 'suspend')
  const since = version + 1
  await issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })
  const paused = await issueKey(harness, vendor)
  await call(vendor, `keys/${paused.id}/disable`)
  const causes = async (more: string) =>
    (await get(vendor, 'delta', `&since=${since}${more}`)).body.changes.map(
      ({ cause }: { cause: string }) => cause,
    )
  assert.deepEqual(await causes(''), ['suspended', 'disabled'])
  assert.deepEqual(await causes(knows), ['expired', 'disabled'])
})

test('a node narrowed to other tenants gets no snapshot for a suspension', async () => {
  const { vendor, suspended, other } = await setUp()
  const { version } = (await get(vendor, 'snapshot')).body
  await tell(vendor, suspended, 'suspend')
  const objectOf = async (more: string) =>
    (await get(vendor, 'delta', `&since=${version}${more}`)).body.object
  assert.equal(await objectOf(`&tenant_id=${other}`), 'policy_delta')
  assert.equal(await objectOf(`&tenant_id=${suspended}`), 'policy_snapshot')
  assert.equal(await objectOf(`&tenant_id=${suspended}${knows}`), 'policy_delta')
})

test('a held poll is answered by a suspension, to nodes of every sort', async () => {
  const { vendor, suspended } = await setUp()
  for (const [more, object] of [
    ['', 'policy_snapshot'],
    [knows, 'policy_delta'],
  ] as const) {
    for (const verb of ['suspend', 'resume'] as const) {
      const { version } = (await get(vendor, 'snapshot', more)).body
      const held = get(vendor, 'delta', `&since=${version}${more}`, { prefer: 'wait=30' })
      await until(() => harness.deps.policy.watch.held().all > 0, 'the poll is held')
      await tell(vendor, suspended, verb)
      assert.equal((await held).body.object, object, verb)
    }
  }
})

const sorts = [
  {},
  { features: ['external_id'] },
  { features: ['suspended'] },
  { features: ['external_id', 'suspended'] },
] as const

test('a node of any sort that reconnects, or walks meanwhile, accepts just what it should', async () => {
  const { vendor, suspended, other, keys } = await setUp()
  const places: [string, (key: (typeof keys)[number]) => boolean][] = [
    ['', () => true],
    ['&env=live', key => key.env === 'live'],
    ['&env=test', key => key.env === 'test'],
    [`&tenant_id=${suspended}`, key => key.tenantId === suspended],
    [`&tenant_id=${other}`, key => key.tenantId === other],
  ]
  const nodes = sorts.flatMap(sort =>
    places.map(([more, sees]) => ({ node: new FeedNode(harness, { ...sort, more }), sees, sort })),
  )
  let isSuspended = false
  const toggle = async () => {
    isSuspended = !isSuspended
    await tell(vendor, suspended, isSuspended ? 'suspend' : 'resume')
  }
  const assertRight = ({ node, sees, sort }: (typeof nodes)[number]) =>
    assert.deepEqual(
      node.accepts().toSorted(),
      keys
        .filter(key => sees(key) && !(isSuspended && key.tenantId === suspended))
        .map(({ id }) => id)
        .toSorted(),
      JSON.stringify(sort),
    )
  for (let round = 0; round < 4; round += 1) {
    await toggle()
    for (const one of nodes) {
      await one.node.poll(vendor, 1)
      assertRight(one)
    }
    // A disconnected node misses one change or both of a pair.
    if (round === 2) await toggle()
  }
  for (const one of nodes) {
    // A node that begins anew, and a suspension behind each of its pages: its first delta sets it right.
    one.node.since = null
    await one.node.poll(vendor, 1, toggle)
    await one.node.poll(vendor, 1)
    assertRight(one)
  }
  const walks = nodes.filter(({ sort }) => 'features' in sort && sort.features.includes('suspended' as never))
  assert.ok(walks.every(({ node }) => node.walks === 2))
})

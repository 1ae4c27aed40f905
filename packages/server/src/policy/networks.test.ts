import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFeed, changesOf, idsOf } from '../../test/feed.ts'
import { FeedNode } from '../../test/feed-node.ts'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeProject, makeTenant, makeVendor, type Vendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const get = askFeed(harness)
const knows = '&features=cidr'
const office = ['203.0.113.0/24', '2001:db8::/32']

const patch = async ({ live }: Vendor, path: string, body: object) => {
  const { status } = await ask('PATCH', `/v1/${path}`, { token: live, body })
  assert.equal(status, 200)
}
const restrict = (vendor: Vendor, id: string, allowed_cidrs: readonly string[]) =>
  patch(vendor, `tenants/${id}`, { allowed_cidrs })

/** A vendor with a tenant that has three keys: one without a list, one with an empty list, one with networks. */
async function setUp() {
  const vendor = await makeVendor(harness)
  const { id: tenantId } = await makeTenant(harness, vendor)
  const issue = async (more = {}) => (await issueKey(harness, vendor, { tenant_id: tenantId, ...more })).id
  const inherits = await issue()
  const anywhere = await issue({ allowed_cidrs: [] })
  const own = await issue({ allowed_cidrs: ['10.0.0.0/8'] })
  const other = (await issueKey(harness, vendor)).id
  return { vendor, tenantId, inherits, anywhere, own, other }
}

test('a snapshot has the lists of keys, and of the tenants alone that have one', async () => {
  const { vendor, tenantId, inherits, anywhere, own, other } = await setUp()
  await restrict(vendor, tenantId, office)
  const { body } = await get(vendor, 'snapshot', knows)
  assert.deepEqual(
    [body.features, body.tenants],
    [['cidr'], [{ tenant_id: tenantId, allowed_cidrs: office }]],
  )
  const lists = new Map(body.keys.map((key: Record<string, unknown>) => [key.key_id, key.allowed_cidrs]))
  assert.deepEqual(
    [inherits, anywhere, own, other].map(id => [lists.has(id), lists.get(id)]),
    [
      [true, undefined],
      [true, []],
      [true, ['10.0.0.0/8']],
      [true, undefined],
    ],
  )
  const both = (await get(vendor, 'snapshot', '&features=cidr,suspended,external_id')).body.tenants
  assert.deepEqual(both.map((one: Record<string, unknown>) => one.allowed_cidrs).toSorted(), [
    office,
    undefined,
  ])
})

test('a list of a tenant is one row of each project in the next delta, however many keys it has', async () => {
  const { vendor, tenantId } = await setUp()
  const second = await makeProject(harness, vendor)
  await issueKey(harness, vendor, { tenant_id: tenantId, project_id: second.id })
  const rows = async () => Number((await query('select count(*) as n from policy_changes'))[0].n)
  const { version } = (await get(vendor, 'snapshot', knows)).body
  const before = await rows()
  let since = version
  for (const list of [office, ['192.0.2.7/32'], []]) {
    await restrict(vendor, tenantId, list)
    const { body } = await get(vendor, 'delta', `${knows}&since=${since}`)
    assert.deepEqual([body.object, body.version, body.changes], ['policy_delta', since + 1, []])
    assert.deepEqual(body.tenants, [{ tenant_id: tenantId, ...(list.length > 0 && { allowed_cidrs: list }) }])
    since += 1
  }
  assert.equal(await rows(), before)
  const heads = await query('select version from policy_heads where project_id = $1', [second.id])
  assert.equal(heads[0].version, 2 + 3)
})

test('a list of a key is a change of that key, with its tenant beside it', async () => {
  const { vendor, tenantId, inherits } = await setUp()
  await restrict(vendor, tenantId, office)
  let since = (await get(vendor, 'snapshot', knows)).body.version
  for (const [list, shown] of [
    [['10.0.0.0/8'], { allowed_cidrs: ['10.0.0.0/8'] }],
    [[], { allowed_cidrs: [] }],
    [null, {}],
  ] as const) {
    await patch(vendor, `keys/${inherits}`, { allowed_cidrs: list })
    const { body } = await get(vendor, 'delta', `${knows}&since=${since}`)
    assert.deepEqual(changesOf(body), [['upsert', inherits]])
    assert.deepEqual(
      'allowed_cidrs' in body.changes[0] ? { allowed_cidrs: body.changes[0].allowed_cidrs } : {},
      shown,
    )
    assert.deepEqual(body.tenants, [{ tenant_id: tenantId, allowed_cidrs: office }])
    since = body.version
  }
})

test('a node that does not know networks lacks the keys, and a tombstone says no cause', async () => {
  const { vendor, inherits, anywhere, own, other } = await setUp()
  for (const more of ['', '&features=suspended', '&features=later']) {
    const { body } = await get(vendor, 'snapshot', more)
    assert.deepEqual(idsOf(body).toSorted(), [inherits, anywhere, other].toSorted())
    await patch(vendor, `keys/${inherits}`, { allowed_cidrs: ['10.0.0.0/8'] })
    const gone = (await get(vendor, 'delta', `${more}&since=${body.version}`)).body
    assert.deepEqual(changesOf(gone), [['tombstone', inherits]])
    assert.equal('cause' in gone.changes[0], false)
    await patch(vendor, `keys/${own}`, { allowed_cidrs: [] })
    await patch(vendor, `keys/${inherits}`, { allowed_cidrs: null })
    const back = (await get(vendor, 'delta', `${more}&since=${gone.version}`)).body
    assert.deepEqual(
      changesOf(back).toSorted(),
      [
        ['upsert', inherits],
        ['upsert', own],
      ].toSorted(),
    )
    await patch(vendor, `keys/${own}`, { allowed_cidrs: ['10.0.0.0/8'] })
  }
})

test('when a tenant gets networks or loses all, the keys go and come back by a snapshot', async () => {
  const { vendor, tenantId, inherits, anywhere, other } = await setUp()
  for (const more of ['', '&features=suspended', '&features=external_id']) {
    const objectAt = async (since: number) => (await get(vendor, 'delta', `${more}&since=${since}`)).body
    const first = (await get(vendor, 'snapshot', more)).body
    await restrict(vendor, tenantId, office)
    const gone = await objectAt(first.version)
    assert.equal(gone.object, 'policy_snapshot')
    assert.deepEqual(idsOf(gone).toSorted(), [anywhere, other].toSorted())
    // Between two lists, no key goes or comes back.
    await restrict(vendor, tenantId, ['192.0.2.0/24'])
    const same = await objectAt(gone.version)
    assert.deepEqual([same.object, same.changes], ['policy_delta', []])
    const issued = await issueKey(harness, vendor, { tenant_id: tenantId })
    const more2 = await objectAt(same.version)
    assert.deepEqual(changesOf(more2), [['tombstone', issued.id]])
    await ask('POST', `/v1/keys/${issued.id}/revoke`, { token: vendor.live })
    await restrict(vendor, tenantId, [])
    const back = await objectAt(more2.version)
    assert.equal(back.object, 'policy_snapshot')
    assert.deepEqual(idsOf(back).toSorted(), [inherits, anywhere, other].toSorted())
    assert.equal((await objectAt(back.version)).object, 'policy_delta')
  }
})

test('a node narrowed to other tenants gets no snapshot for networks', async () => {
  const { vendor, tenantId } = await setUp()
  const { version } = (await get(vendor, 'snapshot')).body
  await restrict(vendor, tenantId, office)
  const objectOf = async (more: string) =>
    (await get(vendor, 'delta', `&since=${version}${more}`)).body.object
  assert.equal(await objectOf(`&tenant_id=${vendor.tenantId}`), 'policy_delta')
  assert.equal(await objectOf(`&tenant_id=${tenantId}`), 'policy_snapshot')
  assert.equal(await objectOf(`&tenant_id=${tenantId}${knows}`), 'policy_delta')
  // A node that knows suspensions alone does not know networks.
  assert.equal(await objectOf(`&tenant_id=${tenantId}&features=suspended`), 'policy_snapshot')
})

test('a held poll is answered by networks of a tenant, to nodes of every sort', async () => {
  const { vendor, tenantId } = await setUp()
  for (const [more, object] of [
    ['', 'policy_snapshot'],
    [knows, 'policy_delta'],
  ] as const) {
    for (const list of [office, []]) {
      const { version } = (await get(vendor, 'snapshot', more)).body
      const held = get(vendor, 'delta', `&since=${version}${more}`, { prefer: 'wait=30' })
      await until(() => harness.deps.policy.watch.held().all > 0, 'the poll is held')
      await restrict(vendor, tenantId, list)
      assert.equal((await held).body.object, object)
    }
  }
})

test('a node of any sort that walks while networks change holds just what it should', async () => {
  const { vendor, tenantId, inherits, anywhere, own, other } = await setUp()
  const nodes = [[], ['suspended'], ['cidr'], ['cidr', 'external_id']].map(
    features => new FeedNode(harness, { features }),
  )
  let list: string[] = []
  const toggle = async () => {
    list = list.length === 0 ? office : []
    await restrict(vendor, tenantId, list)
  }
  for (let round = 0; round < 3; round += 1) {
    for (const node of nodes) {
      if (round === 1) node.since = null
      await node.poll(vendor, 1, toggle)
      await node.poll(vendor, 1)
      const all = { [inherits]: list, [anywhere]: [], [own]: ['10.0.0.0/8'], [other]: [] }
      const held = Object.entries(all).filter(
        ([, networks]) => node.features.includes('cidr') || networks.length === 0,
      )
      assert.deepEqual(
        Object.fromEntries([...node.keys].map(([id, key]) => [id, node.networksOf(key)])),
        Object.fromEntries(held),
        String(node.features),
      )
    }
    await toggle()
  }
})

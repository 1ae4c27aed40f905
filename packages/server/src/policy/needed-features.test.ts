import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { askFeed, changesOf, idsOf } from '../../test/feed.ts'
import { FeedNode } from '../../test/feed-node.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, type Vendor } from '../../test/vendor.ts'
import { feedFeatures } from './features.ts'
import { feedStatements } from './statements.ts'

/** A service of a later release, where only nodes with the feature can verify keys that have the scope `quota`. */
const harness = await startHarness({ policyMaxWholeKeys: 40, policyMaxPageKeys: 6 })
Object.assign(harness.deps.policy, {
  statements: feedStatements({
    ...feedFeatures,
    quota: { needed: `k.scopes @> '{quota}'`, key: [`',"quota":', cardinality(k.scopes)`] },
  }),
})
const { ask } = harness
const get = askFeed(harness)

test('a statement passes over keys that need a feature which is not named', () => {
  assert.match(harness.deps.policy.statements.changes([]).text, /and not .*quota/)
})

test('a node without a needed feature gets no such key, and a tombstone without a cause', async () => {
  const vendor = await makeVendor(harness)
  const key = await issueKey(harness, vendor)
  const since = (await get(vendor, 'snapshot')).body.version
  const patch = (scopes: string[]) =>
    ask('PATCH', `/v1/keys/${key.id}`, { token: vendor.live, body: { scopes } })
  await patch(['quota'])
  for (const set of ['', '&features=names,meta', '&features=other']) {
    const { body } = await get(vendor, 'delta', `&since=${since}${set}`)
    assert.deepEqual(changesOf(body), [['tombstone', key.id]])
    assert.equal('cause' in body.changes[0], false)
    assert.deepEqual(idsOf((await get(vendor, 'snapshot', set)).body), [])
  }
  const raw = async (url: string) =>
    (await harness.app.inject({ url, headers: { authorization: `Bearer ${vendor.live}` } })).json()
  const judging = await raw(`/v1/policy/delta?project_id=${vendor.projectId}&since=${since}&features=quota`)
  assert.deepEqual(
    [judging.features, judging.changes[0].change, judging.changes[0].quota],
    [['quota'], 'upsert', 1],
  )
  await patch(['plain'])
  assert.deepEqual(changesOf((await get(vendor, 'delta', `&since=${since}`)).body), [['upsert', key.id]])
  await patch(['quota'])
  await ask('POST', `/v1/keys/${key.id}/revoke`, { token: vendor.live })
  assert.equal((await get(vendor, 'delta', `&since=${since}`)).body.changes[0].cause, 'revoked')
})

/** What the node holds of each key, as the vendor would describe it. */
function holdsOf(node: FeedNode) {
  const described = (key: Record<string, unknown>) => {
    const tenant = node.tenants.get(String(key.tenant_id)) ?? {}
    return {
      scopes: key.scopes,
      name: key.name,
      meta: key.meta,
      of: tenant.external_id,
      as: tenant.name,
      more: tenant.meta,
      isSuspended: node.isSuspended(key.tenant_id),
      networks: node.networksOf(key),
    }
  }
  return Object.fromEntries([...node.keys].map(([id, key]) => [id, described(key)]))
}

/** What a node should hold, according to the vendor API. */
async function shouldHold(named: readonly string[], { live }: Vendor) {
  const list = async (path: string) => (await ask('GET', `/v1/${path}?limit=200`, { token: live })).body.data
  const tenants = new Map((await list('tenants')).map((tenant: { id: string }) => [tenant.id, tenant]))
  const [names, meta, quota, suspended, cidr] = ['names', 'meta', 'quota', 'suspended', 'cidr'].map(name =>
    named.includes(name),
  )
  const held: Record<string, unknown> = {}
  for (const key of await list('keys')) {
    const tenant = tenants.get(key.tenant_id) as Record<string, unknown>
    const isSuspended = tenant.suspended_at !== null
    if (key.disabled_at !== null || (key.scopes.includes('quota') && !quota)) continue
    if (isSuspended && !suspended) continue
    const networks = (key.allowed_cidrs ?? tenant.allowed_cidrs) as string[]
    if (networks.length > 0 && !cidr) continue
    held[key.id] = {
      scopes: key.scopes,
      name: names ? key.name : undefined,
      meta: meta ? key.meta : undefined,
      of: names ? tenant.external_id : undefined,
      as: names ? tenant.name : undefined,
      more: meta ? tenant.meta : undefined,
      isSuspended,
      networks,
    }
  }
  return held
}

const word = fc.constantFrom('a', 'b', 'ü"')
const anyNetworks = fc.constantFrom([], ['10.0.0.0/8'], ['192.0.2.0/24', '2001:db8::/32'])
const anyTenant = fc.nat({ max: 2 })
const anyKey = fc.nat({ max: 30 })
const command = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      tenant: anyTenant,
      quota: fc.boolean(),
      word,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('patch' as const),
      key: anyKey,
      quota: fc.option(fc.boolean()),
      word,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke' as const), key: anyKey }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('rotate' as const), key: anyKey, overlap: fc.constantFrom(0, 1) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('rename' as const), tenant: anyTenant, word }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), tenant: anyTenant }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('tell' as const),
      tenant: anyTenant,
      verb: fc.constantFrom('suspend', 'resume'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('restrict' as const),
      tenant: anyTenant,
      networks: anyNetworks,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('place' as const),
      key: anyKey,
      networks: fc.option(anyNetworks),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      key: anyKey,
      verb: fc.constantFrom('disable', 'enable'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('poll' as const),
      node: fc.nat({ max: 8 }),
      page: fc.integer({ min: 1, max: 6 }),
    }),
  },
)

test('after any history, a poll gives a node exactly the keys that its features cover', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 30 }), async commands => {
      const vendor = await makeVendor(harness)
      const call = (method: string, path: string, body: object = {}) =>
        ask(method, `/v1/${path}`, { token: vendor.live, ...(method !== 'DELETE' && { body }) })
      const tenants = [vendor.tenantId]
      for (const external_id of ['x', 'y'])
        tenants.push((await call('POST', 'tenants', { external_id })).body.id)
      const keys: string[] = []
      const at = (list: string[], i: number) => list[i % Math.max(1, list.length)] ?? vendor.tenantId
      const scopesOf = (quota: boolean) => (quota ? ['quota'] : ['plain'])
      const nodes = [
        [],
        ['names'],
        ['quota', 'meta'],
        ['meta', 'names', 'quota', 'later'],
        ['suspended'],
        ['suspended', 'names', 'quota'],
        ['cidr'],
        ['cidr', 'suspended'],
        ['cidr', 'meta', 'names', 'quota'],
      ].map(features => new FeedNode(harness, { features }))
      const poll = async (node: FeedNode, page: number) => {
        await node.poll(vendor, page)
        assert.deepEqual(holdsOf(node), await shouldHold(node.features, vendor))
      }
      for (const step of commands) {
        if (step.do === 'create') {
          const { word: name, quota } = step
          const body = {
            project_id: vendor.projectId,
            tenant_id: at(tenants, step.tenant),
            env: 'live',
            name,
          }
          const made = await call('POST', 'keys', { ...body, scopes: scopesOf(quota), meta: { name } })
          if (made.status === 201) keys.push(made.body.id)
        } else if (step.do === 'patch') {
          const scopes = step.quota === null ? {} : { scopes: scopesOf(step.quota) }
          await call('PATCH', `keys/${at(keys, step.key)}`, {
            ...scopes,
            name: step.word,
            meta: { [step.word]: 1 },
          })
        } else if (step.do === 'revoke') await call('POST', `keys/${at(keys, step.key)}/revoke`)
        else if (step.do === 'rotate') {
          const made = await call('POST', `keys/${at(keys, step.key)}/rotate`, {
            overlap_hours: step.overlap,
          })
          if (made.status === 200) keys.push(made.body.id)
          // A key with no overlap has ended but is still listed; the policy does not have it.
          if (step.overlap === 0 && made.status === 200)
            await call('POST', `keys/${made.body.predecessor.id}/revoke`)
        } else if (step.do === 'rename') {
          await call('PATCH', `tenants/${at(tenants, step.tenant)}`, {
            name: step.word,
            meta: { [step.word]: [2] },
          })
        } else if (step.do === 'remove') await call('DELETE', `tenants/${at(tenants, step.tenant)}`)
        else if (step.do === 'tell') await call('POST', `tenants/${at(tenants, step.tenant)}/${step.verb}`)
        else if (step.do === 'restrict')
          await call('PATCH', `tenants/${at(tenants, step.tenant)}`, { allowed_cidrs: step.networks })
        else if (step.do === 'place')
          await call('PATCH', `keys/${at(keys, step.key)}`, { allowed_cidrs: step.networks })
        else if (step.do === 'settle') await call('POST', `keys/${at(keys, step.key)}/${step.verb}`)
        else await poll(nodes[step.node] ?? new FeedNode(harness), step.page)
      }
      for (const node of nodes) await poll(node, 5)
    }),
    { numRuns: 25 },
  )
})

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type FeedService, startFeedService } from '../../test/feed-service.ts'
import { deltaOf, snapshotOf } from '../../test/hostile/node.ts'
import { drawKey, id, policyKey } from '../../test/keys.ts'
import { openNode } from '../../test/node.ts'
import type { KeyringOptions } from '../keyring/options.ts'
import { createVerify } from '../verify/verify.ts'

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(() => service.close())

const [acme, beta] = [id(0xa000), id(0xa001)]
const [one, two] = [drawKey(), drawKey()]
const [office, away] = ['203.0.113.7', '198.51.100.1']
const features = ['cidr', 'suspended']
const key = (text: string, number: number, more: object = {}) => ({ ...policyKey(text, number), ...more })
const keys = [key(one, 1), key(two, 2, { tenant_id: beta })]
const from = (tenant_id: string, ...allowed_cidrs: string[]) => ({ tenant_id, allowed_cidrs })
const whole = (tenants: unknown, more: object = {}) =>
  snapshotOf(service, { keys, features, tenants, ...more })
const change = (tenants: unknown, changes: unknown[] = [], more: object = {}) =>
  deltaOf(service, changes, {
    features,
    tenants,
    version: ++service.version,
    since: service.version - 1,
    ...more,
  })
const upsert = (...given: Parameters<typeof key>) => ({ change: 'upsert', ...key(...given) })

/** A node that holds key one of acme and key two of beta. */
async function start(tenants: unknown, more: object = {}, options: Partial<KeyringOptions> = {}) {
  const node = openNode(service, options)
  service.instead.push(whole(tenants, more))
  assert.equal(await node.poll(), 'snapshot')
  const clock = { wall: () => Date.now(), monotonic: () => node.time.monotonic }
  const verify = createVerify(node.served, { env: 'live', cachedTtlMs: 10_000, clock })
  const codes = (ip?: string) => [verify(one, { ip }).code, verify(two, { ip }).code]
  return { ...node, codes }
}
const messages = ({ odd }: { odd: readonly { message: string }[] }) => odd.map(({ message }) => message)

test('the networks of a key and of a tenant are enforced until a delta changes them', async () => {
  const list = { keys: [key(one, 1, { allowed_cidrs: ['203.0.113.0/24'] }), keys[1]] }
  const { codes, poll, served } = await start([from(beta, '198.51.100.0/24')], list)
  assert.deepEqual(codes(), ['ip_unknown', 'ip_unknown'])
  assert.deepEqual(codes(office), ['valid', 'ip_not_allowed'])
  assert.deepEqual(codes(away), ['ip_not_allowed', 'valid'])
  const revision = served.store?.revision ?? 0
  service.instead.push(change([{ tenant_id: beta }, from(acme, '::/0')]))
  await poll()
  assert.deepEqual(codes(office), ['valid', 'valid'])
  assert.ok((served.store?.revision ?? 0) > revision, 'the disk snapshot is written anew')
  service.instead.push(change([], [upsert(one, 1)]))
  await poll()
  assert.deepEqual(codes(office), ['ip_not_allowed', 'valid'])
  service.instead.push(change([], [upsert(one, 1, { allowed_cidrs: [] })]))
  await poll()
  assert.deepEqual(codes(), ['valid', 'valid'])
})

test('an entry that suspends says that a tenant has no list, if the service knows the feature', async () => {
  const { codes, poll } = await start([from(acme, '203.0.113.0/24')])
  service.instead.push(change([{ tenant_id: acme, suspended: false }], [], { features: ['suspended'] }))
  await poll()
  assert.deepEqual(codes(away), ['ip_not_allowed', 'valid'])
})

test('a snapshot replaces networks, and a page ends no list of a page before it', async () => {
  const { codes, poll } = await start([from(acme, '203.0.113.0/24')])
  service.floor = service.version + 1
  service.instead.push(whole([]))
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual(codes(), ['valid', 'valid'])
  service.instead.push(
    whole([from(acme, '203.0.113.0/24')], { keys: keys.slice(0, 1), next_cursor: 'a' }),
    whole([{ tenant_id: acme }, from(beta, '198.51.100.0/24')], { keys: keys.slice(1) }),
  )
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual(codes(away), ['ip_not_allowed', 'valid'])
})

const oddLists: unknown[] = [
  'all',
  null,
  7,
  {},
  [7],
  [null],
  ['x'],
  ['10.0.0.1/8'],
  ['10.0.0.0/33'],
  Array(33).fill('10.0.0.0/8'),
]

test('a list of a key that cannot be read costs that key, and is reported', async () => {
  for (const odd of oddLists) {
    const node = await start([], { keys: [key(one, 1, { allowed_cidrs: odd }), keys[1]] })
    assert.deepEqual(node.codes(office), ['unknown_key', 'valid'])
    assert.match(messages(node).join(), /^The API key \S+ cannot be read and is refused: allowed_cidrs\. /)
  }
  const node = await start([])
  service.instead.push(change([], [upsert(one, 1, { allowed_cidrs: 'x' })]))
  await node.poll()
  assert.deepEqual([node.codes(), node.odd.length], [['unknown_key', 'valid'], 1])
})

test('a list of a tenant that cannot be read refuses its keys from everywhere, and is reported', async () => {
  for (const odd of oddLists) {
    const node = await start([{ tenant_id: acme, allowed_cidrs: odd }])
    assert.deepEqual([node.codes(), node.codes(office)], Array(2).fill(['ip_not_allowed', 'valid']))
    const [message = ''] = messages(node)
    assert.match(
      message,
      new RegExp(`^The tenant ${acme} has keys that are refused from everywhere: allowed_`),
    )
  }
  const node = await start([])
  const odd = [acme, beta].map(tenant_id => ({ tenant_id, allowed_cidrs: 'x', suspended: 'x' }))
  service.instead.push(change(odd.map(({ suspended: _, ...each }) => each)))
  await node.poll()
  assert.match(messages(node).join(), /^2 tenants have keys that are refused from everywhere, such as /)
  assert.deepEqual(node.codes(), ['ip_not_allowed', 'ip_not_allowed'])
  service.instead.push(change([{ tenant_id: acme }]))
  await node.poll()
  assert.deepEqual(node.codes(), ['valid', 'ip_not_allowed'])
})

test('a process of before the feature takes no network away, and the next one sends all anew', async () => {
  const list = { keys: [key(one, 1, { allowed_cidrs: ['203.0.113.0/24'] }), keys[1]] }
  const { codes, poll } = await start([from(beta, '203.0.113.0/24')], list)
  const tenants = [{ tenant_id: beta }]
  service.instead.push(change(tenants, [upsert(one, 1)], { features: ['suspended'] }))
  assert.equal(await poll(), 'delta')
  assert.deepEqual(codes(away), ['ip_not_allowed', 'ip_not_allowed'])
  service.instead.push(change([]), whole([], { version: service.version }))
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual(codes(away), ['valid', 'valid'])
})

test('more tenants with networks than a node may hold: an error, in a delta first a snapshot', async () => {
  const few = { maxCachedKeys: 2, maxAutoCachedKeys: 0 }
  const many = [acme, beta, id(0xa002)].map(tenant => from(tenant, '::/0'))
  service.instead.push(whole(many))
  await openNode(service, few).fails('bad_response')
  const { codes, poll, fails } = await start([from(acme, '::/0'), from(id(0xa003), '::/0')], {}, few)
  service.instead.push(change([from(beta, '::/0')]), whole([from(beta, '::/0')]))
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual(codes(office), ['valid', 'ip_not_allowed'])
  service.instead.push(change(many), whole(many))
  await fails('bad_response')
})

test('a deleted project has no networks', async () => {
  const { poll, served } = await start([from(acme, '::/0')])
  service.instead.push(deltaOf(service, [], { features, tenants: [], project_deleted: true }))
  await poll()
  assert.equal(served.store?.tenantNetworks.size, 0)
})

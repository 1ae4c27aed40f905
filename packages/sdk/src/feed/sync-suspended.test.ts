import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type FeedService, startFeedService } from '../../test/feed-service.ts'
import { deltaOf, snapshotOf } from '../../test/hostile/node.ts'
import { drawKey, id, policyKey } from '../../test/keys.ts'
import { openNode } from '../../test/node.ts'
import type { KeyringOptions } from '../keyring/options.ts'

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(() => service.close())

const [acme, beta] = [id(0xa000), id(0xa001)]
const [one, two] = [drawKey(), drawKey()]
const features = ['suspended']
const key = (text: string, number: number, tenant_id: string) => ({
  ...policyKey(text, number),
  tenant_id,
})
const keys = [key(one, 1, acme), key(two, 2, beta)]
const off = (tenant_id: string, suspended: unknown = true) => ({ tenant_id, suspended })
const whole = (tenants: unknown, more: object = {}) =>
  snapshotOf(service, { keys, features, tenants, ...more })
const change = (tenants: unknown, changes: unknown[] = []) =>
  deltaOf(service, changes, { features, tenants, version: ++service.version, since: service.version - 1 })

/** A node that holds key one of acme and key two of beta. */
async function start(tenants: unknown, options: Partial<KeyringOptions> = {}) {
  const node = openNode(service, options)
  service.instead.push(whole(tenants))
  assert.equal(await node.poll(), 'snapshot')
  return { ...node, codes: () => [node.code(one), node.code(two)] }
}

test('every node asks for suspended tenants, also without ids, meta and labels', async () => {
  await openNode(service).poll()
  await openNode(service, { externalId: false, keyMeta: false }).poll()
  assert.deepEqual(
    service.asked.map(({ url }) => url.searchParams.get('features')),
    ['cidr,external_id,imported,key_meta,lifetime,suspended', 'cidr,imported,lifetime,suspended'],
  )
})

test('the keys of a suspended tenant are refused until a delta resumes it', async () => {
  const { codes, poll, served } = await start([off(acme)])
  assert.deepEqual(codes(), ['suspended_tenant', 'valid'])
  const revision = served.store?.revision ?? 0
  service.instead.push(change([{ tenant_id: acme }, off(beta)]))
  assert.equal(await poll(), 'delta')
  assert.deepEqual(codes(), ['valid', 'suspended_tenant'])
  assert.ok((served.store?.revision ?? 0) > revision, 'the disk snapshot is written anew')
  service.instead.push(change([off(beta, false)]))
  await poll()
  assert.deepEqual(codes(), ['valid', 'valid'])
})

test('a tenant that no answer names stays suspended, also without a key and for keys that come', async () => {
  const { code, poll } = await start([off(id(0xa002))])
  const late = drawKey()
  service.instead.push(change([], [{ change: 'upsert', ...key(late, 3, id(0xa002)) }]))
  await poll()
  assert.equal(code(late), 'suspended_tenant')
})

test('a snapshot replaces the suspended tenants, and its pages together name them', async () => {
  const { codes, poll } = await start([off(acme)])
  service.floor = service.version + 1
  service.instead.push(whole([]))
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual(codes(), ['valid', 'valid'])
  service.instead.push(
    whole([off(acme)], { keys: keys.slice(0, 1), next_cursor: 'a' }),
    whole([{ tenant_id: acme }, off(beta)], { keys: keys.slice(1) }),
  )
  assert.equal(await poll(), 'snapshot')
  // The delta after the walk resumes a tenant; a later page never does.
  assert.deepEqual(codes(), ['suspended_tenant', 'suspended_tenant'])
})

test('a value of suspended that is new suspends, and is reported', async () => {
  for (const odd of ['no', 0, null, {}]) {
    const { codes, odd: errors } = await start([off(acme, odd)])
    assert.deepEqual(codes(), ['suspended_tenant', 'valid'])
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['unreadable_key'],
    )
    assert.match(errors[0]?.message ?? '', new RegExp(`^The tenant ${acme} counts as suspended: suspended`))
  }
  const { codes, poll, odd: errors } = await start([])
  service.instead.push(change([off(acme, 'x'), off(beta, 7)]))
  await poll()
  assert.deepEqual(codes(), ['suspended_tenant', 'suspended_tenant'])
  assert.match(errors[0]?.message ?? '', /^2 tenants count as suspended, such as /)
})

test('an answer whose list of tenants is wrong changes nothing', async () => {
  const { codes, fails } = await start([off(acme)])
  for (const tenants of [undefined, 'all', {}, [null], [{ suspended: true }], [{ tenant_id: 7 }]]) {
    service.instead.push(deltaOf(service, [], { features, tenants }))
    await fails('bad_response')
  }
  assert.deepEqual(codes(), ['suspended_tenant', 'valid'])
})

test('more suspended tenants than a node may hold are an error, and in a delta first a snapshot', async () => {
  const few = { maxCachedKeys: 2, maxAutoCachedKeys: 0 }
  const many = [off(acme), off(beta), off(id(0xa002))]
  service.instead.push(whole(many))
  await openNode(service, few).fails('bad_response')

  const { codes, poll, fails, sync } = await start([off(acme), off(id(0xa003))], few)
  service.instead.push(change([off(beta)]), whole([off(beta)]))
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual(codes(), ['valid', 'suspended_tenant'])
  service.instead.push(change(many), whole(many))
  await fails('bad_response')
  assert.notEqual(sync.version, service.version)
})

test('a service without the feature suspends none and resumes none, and is not asked anew', async () => {
  const { code, poll, odd } = openNode(service)
  service.instead.push(whole([off(acme)], { features: ['external_id', ...features] }))
  await poll()
  const tenants = [{ tenant_id: acme }, off(beta)]
  for (const other of [undefined, [], ['external_id']]) {
    service.instead.push(deltaOf(service, [], { features: other, tenants }))
    assert.equal(await poll(), 'unchanged')
    assert.deepEqual([code(one), code(two)], ['suspended_tenant', 'valid'])
  }
  assert.deepEqual(odd, [])
})

test('after an upgrade of the service keys are taken anew, once', async () => {
  const { codes, poll } = await start([], {})
  service.instead.push(snapshotOf(service, { keys: keys.slice(1) }))
  service.floor = service.version + 1
  await poll()
  assert.deepEqual(codes(), ['unknown_key', 'valid'])
  service.floor = 0
  service.instead.push(deltaOf(service, [], { features, tenants: [] }), whole([off(acme)]))
  assert.equal(await poll(), 'snapshot')
  service.instead.push(deltaOf(service, [], { features, tenants: [] }))
  assert.equal(await poll(), 'unchanged')
  assert.deepEqual(codes(), ['suspended_tenant', 'valid'])
})

test('a deleted project has no suspended tenants', async () => {
  const { codes, poll, served } = await start([off(acme)])
  service.instead.push(deltaOf(service, [], { features, tenants: [], project_deleted: true }))
  await poll()
  assert.deepEqual([codes(), served.store?.suspended.size], [['revoked_key', 'revoked_key'], 0])
})

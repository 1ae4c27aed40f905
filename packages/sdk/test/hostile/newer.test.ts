import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import type { KeyringOptions } from '../../src/index.ts'
import { type Asked, type FeedService, startFeedService } from '../feed-service.ts'
import { drawKey, id, policyKey } from '../keys.ts'
import { until } from '../until.ts'
import { deltaOf, openWitness, snapshotOf, type Witness } from './node.ts'

/** Services that know more or fewer features than a node asks for: names and `meta`. */

const root = mkdtempSync(join(tmpdir(), 'keyrail-newer-'))
after(() => rmSync(root, { recursive: true, force: true }))

let service: FeedService
const open: Witness[] = []
const key = drawKey()
const tenantId = id(0xa000)
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(async () => {
  for (const { keyring } of open.splice(0)) await keyring.close()
  await service.close()
})

async function start(options: Partial<KeyringOptions>) {
  const witness = openWitness(service, options)
  open.push(witness)
  await witness.keyring.ready()
  return witness
}

/** The answers of a service with both features. */
const labels = { name: 'CI', meta: { plan: { seats: 3 } } }
const tenant = { tenant_id: tenantId, external_id: 'acme-1', name: 'Acme', meta: null }
const whole = () =>
  snapshotOf(service, {
    features: ['meta', 'names'],
    keys: [{ ...policyKey(key, 1), ...labels }],
    tenants: [tenant],
  })
const isDelta = ({ url }: Asked) => url.pathname.endsWith('/delta')
const whose = { externalId: 'acme-1', tenantName: 'Acme', keyName: 'CI', meta: labels.meta, tenantMeta: null }
const both = { names: true, meta: true }

function whoseOf({ keyring }: Witness) {
  const verdict = keyring.verify(key)
  assert.ok(verdict.valid)
  const { externalId, tenantName, keyName, meta, tenantMeta } = verdict
  return { externalId, tenantName, keyName, meta, tenantMeta }
}

test('a node gets frozen labels, and only those that it asks for', async () => {
  service.misbehave = asked =>
    isDelta(asked) ? deltaOf(service, [], { features: ['meta', 'names'] }) : whole()
  const asking = await start(both)
  assert.deepEqual(whoseOf(asking), whose)
  assert.throws(() => Object.assign(whoseOf(asking).meta?.plan as object, { seats: 4 }), TypeError)
  assert.equal(
    service.asked.at(-1)?.url.searchParams.get('features'),
    'cidr,external_id,imported,key_meta,lifetime,meta,names,suspended,refusals',
  )
  const other = await start({ externalId: false, keyMeta: false })
  assert.equal(
    service.asked.at(-1)?.url.searchParams.get('features'),
    'cidr,imported,lifetime,suspended,refusals',
  )
  const verdict = other.keyring.verify(key)
  for (const name of Object.keys(whose)) assert.ok(!(name in verdict), name)
})

test('a delta brings changed tenants and key names', async () => {
  service.misbehave = asked => (isDelta(asked) ? undefined : whole())
  const witness = await start(both)
  const features = ['meta', 'names']
  service.instead.push(deltaOf(service, [], { features, tenants: [{ ...tenant, name: 'Acme Ltd' }] }))
  await until(() => whoseOf(witness).tenantName === 'Acme Ltd', 'the tenant has its new name')
  const change = { change: 'upsert', ...policyKey(key, 1), ...labels, name: null }
  service.instead.push(deltaOf(service, [change], { features, tenants: [tenant] }))
  await until(() => whoseOf(witness).keyName === null, 'the key has no name')
  assert.deepEqual(whoseOf(witness), { ...whose, keyName: null })
})

test('after an upgrade of the service to features, keys are taken anew, once', async () => {
  let isNew = false
  service.misbehave = asked => {
    if (!isDelta(asked)) return isNew ? whole() : snapshotOf(service, { keys: [policyKey(key, 1)] })
    return deltaOf(service, [], isNew ? { features: ['meta', 'names'], tenants: [] } : {})
  }
  const witness = await start(both)
  assert.deepEqual(whoseOf(witness).externalId, undefined)
  isNew = true
  await until(() => whoseOf(witness).externalId === 'acme-1', 'a snapshot was taken')
  const { unchanged } = witness.keyring.stats().polls
  await until(() => witness.keyring.stats().polls.unchanged > unchanged + 2, 'it continues with deltas')
  assert.equal(service.paths.filter(path => path === 'snapshot').length, 2)
})

test('unreadable names and meta are left out, and the key is served', async () => {
  let meta: unknown = 1
  for (let level = 0; level < 100; level++) meta = { meta }
  const keys = [{ ...policyKey(key, 1), name: 7, meta }]
  const tenants = [null, { tenant_id: 7 }, { tenant_id: tenantId, external_id: {}, name: [], meta: 'x' }]
  service.misbehave = asked =>
    isDelta(asked) ? undefined : snapshotOf(service, { features: 'all', keys, tenants })
  const witness = await start(both)
  assert.ok(Object.values(whoseOf(witness)).every(value => value === undefined))
  assert.deepEqual(witness.errors, [])
})

test('a copy on disk keeps names and meta, and is not used with other features', async () => {
  const cacheDir = join(root, 'node')
  service.misbehave = asked =>
    isDelta(asked) ? deltaOf(service, [], { features: ['meta', 'names'] }) : whole()
  await (await start({ ...both, cacheDir })).keyring.close()
  service.asked.length = 0
  const again = await start({ ...both, cacheDir })
  assert.deepEqual(whoseOf(again), whose)
  await until(() => service.asked.length > 0, 'it has polled')
  assert.deepEqual([...new Set(service.paths)], ['delta'])
  await again.keyring.close()
  service.asked.length = 0
  const other = await start({ names: true, cacheDir })
  assert.deepEqual(
    other.notices.map(({ code }) => code),
    ['disk_scope_mismatch'],
  )
  assert.equal(service.paths[0], 'snapshot')
})

test('a copy on disk of an earlier SDK is used, and the next answer brings ids and meta', async () => {
  const cacheDir = join(root, 'upgraded')
  service.misbehave = asked =>
    isDelta(asked) ? deltaOf(service, []) : snapshotOf(service, { keys: [policyKey(key, 1)] })
  await (await start({ externalId: false, keyMeta: false, cacheDir })).keyring.close()
  const features = ['external_id', 'key_meta']
  service.asked.length = 0
  service.misbehave = asked =>
    isDelta(asked)
      ? deltaOf(service, [], { features })
      : snapshotOf(service, { features, keys: [{ ...policyKey(key, 1), meta: {} }], tenants: [tenant] })
  const upgraded = await start({ cacheDir })
  assert.deepEqual([upgraded.keyring.verify(key).code, upgraded.notices], ['valid', []])
  await until(() => whoseOf(upgraded).externalId === 'acme-1', 'the node knows the tenant')
  assert.deepEqual(whoseOf(upgraded).meta, {})
  assert.deepEqual(service.paths.slice(0, 2), ['delta', 'snapshot'])
})

test('a process started from disk refuses the keys of a suspended tenant before any answer', async () => {
  const cacheDir = join(root, 'suspended')
  const features = ['suspended']
  const tenants = [{ tenant_id: tenantId, suspended: true }]
  service.misbehave = asked =>
    isDelta(asked)
      ? deltaOf(service, [], { features, tenants: [] })
      : snapshotOf(service, { features, keys: [policyKey(key, 1)], tenants })
  await (await start({ cacheDir })).keyring.close()
  service.misbehave = () => ({ hang: true })
  const again = await start({ cacheDir })
  assert.deepEqual([again.keyring.verify(key).code, again.notices], ['suspended_tenant', []])
  assert.equal(again.keyring.stats().source, 'disk')
})

test('a process started from disk enforces networks before any answer', async () => {
  const cacheDir = join(root, 'networks')
  const features = ['cidr']
  const tenants = [{ tenant_id: tenantId, allowed_cidrs: ['203.0.113.0/24'] }]
  const own = drawKey()
  const keys = [policyKey(key, 1), { ...policyKey(own, 2), allowed_cidrs: ['198.51.100.0/24'] }]
  service.misbehave = asked =>
    isDelta(asked)
      ? deltaOf(service, [], { features, tenants: [] })
      : snapshotOf(service, { features, keys, tenants })
  await (await start({ cacheDir })).keyring.close()
  service.misbehave = () => ({ hang: true })
  const { keyring, notices } = await start({ cacheDir })
  const codes = (ip?: string) => [key, own].map(each => keyring.verify(each, { ip }).code)
  assert.deepEqual([keyring.stats().source, notices], ['disk', []])
  assert.deepEqual(codes(), ['ip_unknown', 'ip_unknown'])
  assert.deepEqual(codes('203.0.113.7'), ['valid', 'ip_not_allowed'])
})

test('without policy:labels a node gets what it may, and says once what is left out', async () => {
  const features = ['external_id', 'key_meta']
  const { name: _name, meta: _meta, ...unnamed } = tenant
  service.misbehave = asked =>
    isDelta(asked)
      ? deltaOf(service, [], { features, tenants: [] })
      : snapshotOf(service, {
          features,
          keys: [{ ...policyKey(key, 1), meta: labels.meta }],
          tenants: [unnamed],
        })
  const left = {
    externalId: 'acme-1',
    tenantName: undefined,
    keyName: undefined,
    meta: labels.meta,
    tenantMeta: undefined,
  }
  for (const options of [both, { externalId: true, keyMeta: true, labels: true }]) {
    const witness = await start(options)
    assert.deepEqual(whoseOf(witness), left)
    const { unchanged } = witness.keyring.stats().polls
    await until(() => witness.keyring.stats().polls.unchanged > unchanged + 2, 'it continues with deltas')
    assert.deepEqual(
      witness.notices.map(({ code }) => code),
      ['labels_left_out'],
    )
    assert.match(witness.notices[0]?.message ?? '', /policy:labels/)
    assert.deepEqual(witness.errors, [])
  }
  assert.equal(
    service.asked.at(-1)?.url.searchParams.get('features'),
    'cidr,external_id,imported,key_meta,labels,lifetime,suspended,held_ms,refusals',
  )
  const quiet = await start({ externalId: true, keyMeta: true })
  assert.deepEqual([whoseOf(quiet), quiet.notices], [left, []])
})

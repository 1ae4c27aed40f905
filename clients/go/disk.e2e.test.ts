import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { DiskCache } from '../../packages/sdk/src/disk/cache.ts'
import type { Scope } from '../../packages/sdk/src/feed/record.ts'
import { toBase64 } from '../../packages/sdk/src/runtime/bytes.ts'
import { digestOf } from '../../packages/sdk/src/runtime/digest.ts'
import type { Whose } from '../../packages/sdk/src/store/labels.ts'
import { drawKey } from '../../packages/sdk/src/testing/draw-key.ts'
import { type Answered, buildDriver, startDriver } from './driver-program.ts'

/** Either program starts from what the other has left on the disk. */

const folder = mkdtempSync(join(tmpdir(), 'keyrail-go-disk-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const [project, workspace, tenant, suspended] = [0xc000, 0xd000, 0xa000, 0xa001].map(
  number => `01930c3e-8f5a-7c31-9b0e-${number.toString(16).padStart(12, '0')}`,
) as [string, string, string, string]
const wall = Date.parse('2027-01-01T00:00:00Z')
const limits = [
  { id: 'm', limit: 100, window_ms: 60_000, algorithm: 'fixed', scope: 'tenant', newer: { 2: 'é', 1: 1e21 } },
]
interface HeldKey {
  key: string
  key_id: string
  env: string
  scopes: string[]
  expires_at: string | null
  rate_limits?: object[]
  meta: object | null
  tenant_id: string
}
const keyAt = (at: number): HeldKey => ({
  key: drawKey(at % 2 === 0 ? 'kr_live_' : 'kr_test_'),
  key_id: at === 39 ? 'zeta' : `01930c3e-8f5a-7c31-9b0e-0123456789${at + 10}`,
  env: at % 2 === 0 ? 'live' : 'test',
  scopes: at % 3 === 0 ? ['orders:read', 'orders:wräte'] : [],
  expires_at: at === 5 ? '2027-01-01T00:30:00.000Z' : null,
  ...(at === 7 && { rate_limits: limits }),
  tenant_id: at === 9 ? suspended : tenant,
  meta: at === 3 ? { plan: 'gold', deep: [1, { a: null }] } : at === 4 ? null : {},
})
const held = Array.from({ length: 40 }, (_, at) => keyAt(at))
const bytesOf = (digest: string) => Buffer.from(digest, 'utf16le')

const features = ['cidr', 'external_id', 'imported', 'key_meta', 'lifetime', 'suspended']
const body = (object: string, at: number, more: Record<string, unknown>) => ({
  object,
  workspace_id: workspace,
  project_id: project,
  env: null,
  version: 7,
  project_deleted: false,
  features,
  tenants:
    object === 'policy_snapshot'
      ? [
          { tenant_id: tenant, external_id: 'acme' },
          { tenant_id: suspended, external_id: 'acme', suspended: true },
        ]
      : [],
  generated_at: new Date(at).toISOString(),
  ...more,
})
let now = wall
const server = createServer((asked, answer) => {
  const keys = held.map(({ key, ...rest }) => ({
    ...rest,
    lookup_hash: toBase64(bytesOf(digestOf(key))),
  }))
  const sent = asked.url?.startsWith('/v1/policy/snapshot')
    ? body('policy_snapshot', now, { keys, next_cursor: null })
    : body('policy_delta', now, { since: 7, changes: [] })
  answer.end(JSON.stringify(sent))
}).listen(0, '127.0.0.1')
after(() => server.close().closeAllConnections())

const driver = join(folder, 'driver')
const secret = drawKey('krsk_live_')
let url: string
before(async () => {
  if (!server.listening) await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await buildDriver(driver)
})

const makeFolder = (name: string) => {
  const path = join(folder, name)
  mkdirSync(path, { mode: 0o700 })
  return path
}
/** A process of the client for Go that starts after this time. */
async function goNode(cacheDir: string, passed = 0) {
  const node = startDriver(driver)
  const time = { wall: wall + passed, uptime: 1_000_000 + passed, random: 0.5 }
  const { reports } = await node.send('open', {
    ...time,
    url,
    secret_key: secret,
    project,
    env: 'both',
    cache_dir: cacheDir,
  })
  assert.deepEqual(reports, [])
  return node
}
/** The disk of a process of the SDK that starts after this time. */
function sdkDisk(cacheDir: string, passed = 0) {
  const scope: Scope = {
    projectId: project,
    env: 'both',
    tenantIds: [],
    features,
    service: `${url}/`,
  }
  const at = { passed }
  const cache = new DiskCache({
    settings: { scope, cacheDir, cachedTtlMs: 60_000, maxCachedKeys: 1_000, maxAutoCachedKeys: 0 },
    clock: { wall: () => wall + at.passed, monotonic: () => at.passed },
    uptimeMs: () => 1_000_000 + at.passed,
    serviceTime: monotonic => wall + monotonic,
    notice: ({ message }) => assert.fail(message),
  })
  return { cache, at }
}
const expected = ({ key_id, tenant_id, env, scopes, expires_at, rate_limits, meta }: HeldKey) =>
  tenant_id === suspended
    ? { code: 'suspended_tenant' }
    : {
        code: 'valid',
        key_id,
        tenant_id,
        env,
        scopes,
        expires_at: expires_at === null ? null : Date.parse(expires_at),
        limits: rate_limits ?? null,
        external_id: 'acme',
        meta,
      }
const verdictsOf = async (node: { send(op: string, fields: Record<string, unknown>): Promise<Answered> }) => {
  const verdicts: Answered[] = []
  for (const { key } of held) verdicts.push(await node.send('verify', { key }))
  return verdicts
}

test('the SDK starts from a file of the client for Go, and the other way round', async () => {
  const [first, second] = [makeFolder('first'), makeFolder('second')]
  const writer = await goNode(first)
  assert.equal((await writer.send('poll')).outcome, 'snapshot')
  await writer.send('save')
  writer.end()

  const resumed = (await sdkDisk(first, 30_000).cache.load()) ?? assert.fail('a cold start')
  const { store } = resumed
  const { records, labels } = store
  assert.deepEqual([...store.suspended], [suspended])
  assert.deepEqual([resumed.isFresh, resumed.isWhole, store.size], [true, true, held.length])
  for (const { key, key_id, tenant_id, scopes, meta, expires_at } of held) {
    const slot = store.find(digestOf(key))
    const whose: Whose & { tenantId: string } = { tenantId: records.tenantId(slot) }
    labels?.add(whose, slot)
    assert.deepEqual(whose, { tenantId: tenant_id, externalId: 'acme', meta })
    assert.deepEqual([records.keyId(slot), records.scopes(slot)], [key_id, scopes])
    assert.equal(records.end(slot), expires_at === null ? Infinity : Date.parse(expires_at))
    assert.ok(store.hasId(key_id))
  }

  const { cache } = sdkDisk(second, 30_000)
  assert.equal(await cache.load(), undefined)
  await cache.close(resumed)
  const reader = await goNode(second, 59_999)
  assert.deepEqual(await verdictsOf(reader), held.map(expected))
  reader.end()
  const late = await goNode(second, 60_000)
  assert.equal((await late.send('verify', { key: held[0]?.key })).code, 'stale')
  late.end()
})

test('each believes the note with which the other confirms the file of the first', async () => {
  const both = makeFolder('both')
  const writer = await goNode(both)
  await writer.send('poll')
  await writer.send('save')
  await writer.send('advance', { ms: 40_000 })
  now = wall + 40_000
  assert.equal((await writer.send('poll')).outcome, 'unchanged')
  await writer.send('save')
  writer.end()

  const { cache, at } = sdkDisk(both, 90_000)
  const resumed = await cache.load()
  assert.ok(resumed?.isFresh)
  at.passed = 95_000
  resumed.store.confirm(at.passed)
  await cache.close(resumed)
  const reader = await goNode(both, 150_000)
  const key = held[0]?.key
  assert.equal((await reader.send('verify', { key })).code, 'valid')
  await reader.send('advance', { ms: 5_000 })
  assert.equal((await reader.send('verify', { key })).code, 'stale')
  reader.end()
})

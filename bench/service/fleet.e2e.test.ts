import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { keyOf } from './creations.ts'
import { measureRevocations } from './fleet-revocations.ts'
import { storm } from './fleet-storm.ts'
import { fillKeys } from './keys-fill.ts'
import { settledKeyReads } from './keys-read.ts'
import { type Keyrail, migratedPostgres, startKeyrail } from './start.ts'
import { call, makeVendor, type Vendor } from './vendor.ts'

const postgres = await migratedPostgres()
after(() => postgres.close())

async function start(
  t: TestContext,
): Promise<{ server: Keyrail; vendor: Vendor; headers: { authorization: string } }> {
  const server = await startKeyrail(postgres)
  t.after(() => server.close())
  const vendor = await makeVendor(server.url)
  return { server, vendor, headers: { authorization: `Bearer ${vendor.token}` } }
}

const versionOf = async ({ url }: Keyrail, { token, projectId }: Vendor) =>
  Number((await call(url, token, `/v1/projects/${projectId}`)).policy_version)

const json = { 'content-type': 'application/json' }

test('every node learns of every revocation, polled and held, and of no other change', async t => {
  const { server, vendor, headers } = await start(t)
  const revocation = async () => {
    const { id } = await call(server.url, vendor.token, '/v1/keys', keyOf(vendor))
    const request = {
      method: 'POST' as const,
      path: `/v1/keys/${id}/revoke`,
      headers: { ...headers, ...json },
      body: '{}',
    }
    return { keyId: String(id), trigger: { url: server.url, request } }
  }
  const planOf = async () => ({
    revocations: [await revocation(), await revocation()],
    url: server.url,
    path: `/v1/policy/delta?project_id=${vendor.projectId}&max_keys=10`,
    headers,
    version: await versionOf(server, vendor),
    intervalMs: 300,
    nodes: 20,
    seconds: 0.2,
    pids: { server: server.pid },
  })
  for (const waitSeconds of [null, 5]) {
    const counts = await measureRevocations({
      ...(await planOf()),
      intervalMs: waitSeconds ? 5_000 : 300,
      waitSeconds,
    })
    assert.deepEqual([counts.learned, counts.wrong], [40, []])
    assert.ok(counts.maxMs >= counts.p99Ms && Number(counts.cores.server) > 0)
  }

  const plan = await planOf()
  const [real] = plan.revocations
  const other = await measureRevocations({
    ...plan,
    waitSeconds: null,
    revocations: real ? [{ ...real, keyId: 'another' }] : [],
  })
  assert.equal(other.learned, 0)
  assert.match(other.wrong[0] ?? '', /a tombstone of/)
})

test('a re-seeded fleet has every key with its new limits, at under two reads a key', async t => {
  const { server, vendor, headers } = await start(t)
  const keys = 100
  await fillKeys(postgres, vendor, keys)
  const path = `/v1/projects/${vendor.projectId}`
  const stir = () => Promise.all(Array.from({ length: 40 }, () => call(server.url, vendor.token, path)))
  const readBefore = await settledKeyReads(postgres, 0, stir)
  const rateLimits = [{ id: 'default', limit: 7, window_ms: 60_000, algorithm: 'sliding', scope: 'key' }]
  const request = {
    method: 'PATCH' as const,
    path,
    headers: { ...headers, ...json },
    body: JSON.stringify({ default_rate_limits: rateLimits }),
  }
  const query = `project_id=${vendor.projectId}&max_keys=40`
  const plan = {
    url: server.url,
    nodes: 30,
    headers,
    greeting: `/v1/policy/delta?${query}&since=${await versionOf(server, vendor)}`,
    first: `/v1/policy/delta?${query}&since=${await versionOf(server, vendor)}`,
    next: `/v1/policy/snapshot?${query}`,
    trigger: { url: server.url, request },
    keys,
    rateLimits,
  }
  const counts = await storm(plan)
  assert.equal(counts.pages.length, 3)
  assert.equal(counts.bytes, 30 * counts.pages.join('').length)
  // Once, one key more on each page but the last, and the reads of the plan for so small a table.
  const read = (await settledKeyReads(postgres, readBefore + keys, stir)) - readBefore
  assert.ok(read < 2 * keys, `${read} rows`)

  await assert.rejects(
    storm({ ...plan, trigger: null, keys: keys + 1 }),
    /100 keys, 100 of them different, instead of 101/,
  )
  await assert.rejects(storm({ ...plan, trigger: null, rateLimits: [] }), /has the limits \[\{"id":"default"/)
})

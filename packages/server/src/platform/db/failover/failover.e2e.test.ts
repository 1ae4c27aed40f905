import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { createKeyring, type Keyring } from '../../../../../sdk/src/keyring/keyring.ts'
import { type Harness, startHarness } from '../../../../test/harness.ts'
import { type Pair, startPair } from '../../../../test/standby.ts'
import { patientBudgets } from '../../../../test/stores.ts'
import { until } from '../../../../test/until.ts'
import { issueKey, makeVendor, type Vendor } from '../../../../test/vendor.ts'
import { serviceBudgets } from '../../budgets.ts'
import { isConnectionLost } from '../errors.ts'
import { connectPrimary, versionsRaisedBy } from './timeline.ts'

/** A real primary, a real standby, and keyrings that follow the service over HTTP. */

const oldestBin = '/usr/lib/postgresql/15/bin'
const hasOldest = existsSync(oldestBin)

test('CI has Postgres 15 to fail over with', () => {
  assert.ok(hasOldest || !process.env.CI, `${oldestBin} is missing; install postgresql-15`)
})

interface Key {
  id: string
  key: string
}

/** Longer than a fail-over takes. */
const longWaitMs = 60_000

/** Requests fail as soon as in production. A server that runs may be slow to accept; one that was killed refuses at once. */
const budgets = { ...serviceBudgets, connectMs: patientBudgets.connectMs }

for (const bin of hasOldest ? [undefined, oldestBin] : [undefined]) {
  describe(`on Postgres ${bin === undefined ? 'embedded' : '15'}`, async () => {
    const stage = startStage(bin)

    test('a standby is never ready, answers no poll and confirms no node', async () => standBy(await stage))
    test('a standby promoted ten commits behind reuses no version, and every keyring follows it', async () =>
      loseTen(await stage))
  })
}

test('with a synchronous standby a failover loses nothing that was acknowledged', async () =>
  loseNothing(await startStage(undefined)))

test('a primary that lives on after a promotion loses its connections, and gets no new one', async () => {
  const pair = await startPair()
  after(() => pair.remove())
  const { primary, standby } = pair.servers
  const toOld = await connectPrimary(primary, 'test')
  const isCut = new Promise(resolve => toOld.once('end', resolve).once('error', () => {}))
  await pair.on('standby', 'select pg_promote()')
  const toNew = await connectPrimary(standby, 'test')
  await isCut
  await assert.rejects(() => connectPrimary(primary, 'test'), { code: '57P03' })
  await toNew.end()
})

for (const way of ['a list of hosts', 'an address that moves'] as const)
  test(`with ${way} a running service leaves an old primary that lives on`, async () => {
    const pair = await startPair()
    after(() => pair.remove())
    const hosts = [pair.servers.primary, pair.servers.standby].map(({ host = '', port = 0 }) => ({
      host,
      port,
    }))
    const connection = way === 'a list of hosts' ? { ...pair.servers.primary, hosts } : pair.connection
    const service = await startHarness({}, { connection, drop: async () => {} }, budgets)
    const isReady = async () => (await service.ask('GET', '/readyz')).status === 200
    await until(isReady)
    const vendor = await makeVendor(patiently(service))
    await pair.on('standby', 'select pg_promote()')
    pair.leadTo('standby', 'left')
    const rename = async (name: string) =>
      (await service.ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: vendor.live, body: { name } }))
        .status
    const nameOn = async (server: 'primary' | 'standby') =>
      (await pair.on(server, 'select name from projects where id = $1', [vendor.projectId]))[0].name
    // What the old one acknowledges is lost, so it must soon acknowledge nothing.
    await until(async () => (await rename('Renamed')) === 200 && (await nameOn('standby')) === 'Renamed')
    for (let acknowledged = 0; acknowledged < 20; ) {
      const name = `Name ${acknowledged}`
      const status = await rename(name)
      // A busy machine may be slow to answer, and says so.
      if (status === 503) continue
      assert.deepEqual([status, await nameOn('standby')], [200, name])
      acknowledged++
    }
  })

interface Stage {
  pair: Pair
  service: Harness
  vendor: Vendor
  /** Five keyrings of the vendor's project. */
  fleet: Keyring[]
  keys: Key[]
}

async function startStage(bin: string | undefined): Promise<Stage> {
  const fleet: Keyring[] = []
  // Before the service, whose end waits for connections that are still in use.
  after(() => Promise.all(fleet.map(keyring => keyring.close())))
  const pair = await startPair(bin)
  const place = { connection: pair.connection, drop: pair.remove }
  // If the service cannot start, it does not close the pair, and two clusters would keep this process alive.
  const service = await startHarness({ revokeWaitMs: longWaitMs }, place, budgets).catch(async error => {
    await pair.remove()
    throw error
  })
  const patient = patiently(service)
  const vendor = await makeVendor(patient)
  const keys: Key[] = []
  for (let number = 0; number < 12; number++) keys.push(await issueKey(patient, vendor))
  const url = await service.app.listen({ port: 0, host: '127.0.0.1' })
  for (let number = 0; number < 5; number++)
    fleet.push(createKeyring({ url, secretKey: vendor.live, project: vendor.projectId, pollIntervalMs: 200 }))
  await Promise.all(fleet.map(keyring => keyring.ready()))
  return { pair, service, vendor, fleet, keys }
}

async function standBy({ pair, service, vendor, fleet, keys }: Stage): Promise<void> {
  const { ask } = service
  // Another project, because the process remembers what it could not record about a node.
  const own = await makeVendor(patiently(service))
  const read = (path: string, token = own.live) => ask('GET', path, { token })
  const poll = (more = '') => read(`/v1/policy/delta?project_id=${own.projectId}&since=1&node=n${more}`)
  await until(async () => (await read('/readyz')).status === 200)
  pair.leadTo('standby')
  // Requests that ran when the connections were cut get a 503 too; the second look reaches the standby.
  for (let look = 0; look < 2; look++) {
    assert.equal((await read('/readyz')).status, 503)
    assert.equal((await poll()).status, 503)
    assert.equal((await poll('&env=test')).status, 503)
    assert.equal((await read(`/v1/policy/snapshot?project_id=${own.projectId}`)).status, 503)
    const revoked = await ask('POST', `/v1/keys/${keys[11]?.id}/revoke?wait=true`, { token: vendor.live })
    assert.equal(revoked.status, 503)
  }
  // What a standby refuses, on a connection that was opened to it when it was a primary.
  for (const statement of ['create table refused ()', 'begin; lock table api_keys in share mode'])
    await assert.rejects(() => pair.on('standby', statement), isConnectionLost)
  pair.leadTo('primary')
  await until(async () => (await read('/readyz')).status === 200)
  await until(async () => (await poll()).status === 200)
  for (const keyring of fleet) assert.equal(keyring.verify(keys[0]?.key).code, 'valid')
}

async function loseTen({ pair, service: impatient, vendor, fleet, keys }: Stage): Promise<void> {
  const service = patiently(impatient)
  const { ask } = service
  pair.leadTo('primary')
  const other = await makeVendor(service)
  const seen = await issueKey(service, other)
  const pollOther = (since: number) =>
    ask('GET', `/v1/policy/delta?project_id=${other.projectId}&since=${since}&node=slow`, {
      token: other.live,
    })
  const { body: known } = await pollOther(1)
  await pollOther(known.version)
  await pair.holdBack()

  const given = new Set<number>()
  for (const { id } of keys.slice(0, 10)) {
    const { acknowledged, nodes, version } = await revokeAndWait(ask, vendor, id)
    assert.deepEqual([acknowledged, nodes], [true, 5])
    given.add(version)
  }
  for (const keyring of fleet)
    for (const { key } of keys.slice(0, 10)) assert.equal(keyring.verify(key).code, 'revoked_key')
  // One more, for a node that has not polled when the primary dies.
  const inFlight = impatient.ask('POST', `/v1/keys/${seen.id}/revoke?wait=true`, { token: other.live })
  const isRevoked = `select from api_keys where id = $1 and revoked_at is not null`
  await until(async () => (await pair.on('primary', isRevoked, [seen.id])).length > 0)

  await pair.failOver()
  await ask('GET', '/readyz')
  // Only what has not reached the standby is lost.
  const [{ revoked }] = await pair.on(
    'standby',
    `select count(*)::int as revoked from api_keys where revoked_at is not null`,
  )
  assert.equal(revoked, 0)

  // It has a newer version than the revocation's, and not the revocation.
  const reseed = (await pollOther(known.version)).body
  assert.equal(reseed.object, 'policy_snapshot')
  await pollOther(reseed.version)
  assert.equal((await inFlight).status, 503)

  // Ten different changes: with the old version numbers they would be taken for the lost ones.
  const made: Key[] = []
  for (let number = 0; number < 10; number++) made.push(await issueKey(service, vendor))
  const { body: project } = await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  assert.ok(project.policy_version >= versionsRaisedBy + 10, `${project.policy_version}`)
  await agree(fleet, [...keys, ...made], [])

  // A node whose record the database has lost may live: nothing is acknowledged for 90 s.
  const early = await revokeAndWait(ask, vendor, keys[0]?.id)
  assert.deepEqual([early.acknowledged, early.reason], [false, 'nodes_unknown'])
  await pair.on('standby', `update store_levels set raised_at = raised_at - interval '90 seconds'`)
  for (const { id } of keys.slice(1, 5)) {
    const { acknowledged, nodes, version } = await revokeAndWait(ask, vendor, id)
    assert.deepEqual([acknowledged, nodes], [true, 5])
    assert.ok(!given.has(version))
  }
  await agree(fleet, [...keys.slice(5), ...made], keys.slice(0, 5))
}

async function loseNothing({ pair, service, vendor, fleet, keys }: Stage): Promise<void> {
  const { ask } = patiently(service)
  await pair.synchronous()
  const revoked = keys.slice(0, 10)
  for (const { id } of revoked) assert.equal((await revokeAndWait(ask, vendor, id)).acknowledged, true)
  await pair.failOver()
  await ask('GET', '/readyz')
  for (const { id } of revoked) {
    const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
    assert.notEqual(body.revoked_at ?? null, null, JSON.stringify(body))
  }
  await agree(fleet, keys.slice(10), revoked)
}

async function revokeAndWait(ask: Harness['ask'], { live }: Vendor, id = '') {
  return (await ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token: live })).body.propagation
}

/** Repeats requests while the service looks for its database. */
function patiently(service: Harness): Harness {
  const ask: Harness['ask'] = async (...asked) => {
    let heard = await service.ask(...asked)
    await until(async () => {
      if (heard.status === 503) heard = await service.ask(...asked)
      return heard.status !== 503
    })
    return heard
  }
  return { ...service, ask }
}

/** Waits until every keyring accepts the good keys and rejects the bad ones. */
async function agree(fleet: Keyring[], good: Key[], bad: Key[]): Promise<void> {
  for (const keyring of fleet) {
    await until(async () => good.every(({ key }) => keyring.verify(key).valid))
    await until(async () => bad.every(({ key }) => !keyring.verify(key).valid))
  }
}

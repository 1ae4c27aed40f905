import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { fillListedKeys } from '../../../test/fill-listed-keys.ts'
import { ask, Installation, urlOf } from '../../../test/installation.ts'
import { peakMiB } from '../../../test/peak-memory.ts'
import { until } from '../../../test/until.ts'
import { makeScene } from '../../../test/vendor.ts'

const containerMiB = 512
const keys = 1_000_000
const tenants = 100
const token = 'z'.repeat(32)

/** Ends in the opposite order, whatever fails. */
const open: (() => Promise<unknown>)[] = []
after(async () => {
  for (const close of open.toReversed()) await close()
})

test('a project of 1,000,000 keys is served within a container of 512 MiB', async () => {
  const database = await makeDatabase(testCluster())
  open.push(() => database.drop())
  const client = new pg.Client(database.connection)
  await client.connect()
  open.push(() => client.end())
  const installation = new Installation({ DATABASE_URL: urlOf(database.connection) })
  open.push(() => installation.remove())
  // What docs/operations.md advises for a container of that size.
  const service = await installation.serve({
    SERVICE_BOOTSTRAP_TOKEN: token,
    NODE_OPTIONS: '--max-old-space-size=256',
  })
  const pid = installation.listenerOf(service.url)
  const send = async (
    method: string,
    path: string,
    { token, body }: { token?: string; body?: unknown } = {},
  ) => {
    const answer = await ask(`${service.url}${path}`, { method, body, ...(token !== undefined && { token }) })
    assert.ok(answer, path)
    assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  const vendor = await makeScene(send, token)
  const by = { token: vendor.live }
  const { projectId: project_id, tenantId: tenant_id } = vendor
  const issue = async () =>
    (await send('POST', '/v1/keys', { ...by, body: { project_id, tenant_id, env: 'live' } })).body
  const { rows } = await client.query(
    `insert into tenants (workspace_id, id, external_id, created_at, updated_at)
     select $1, gen_random_uuid(), 'filled ' || n, now(), now() from generate_series(1, ${tenants}) n returning id`,
    [vendor.workspaceId],
  )
  await fillListedKeys(client, { ...vendor, tenantIds: rows.map(({ id }) => String(id)) }, keys)

  const project = `project_id=${vendor.projectId}`
  assert.equal(
    await walkSnapshot(`${service.url}/v1/policy/snapshot?${project}&max_keys=5000`, vendor.live),
    keys,
  )

  const { policy_version: since } = (await send('GET', `/v1/projects/${vendor.projectId}`, by)).body
  const newest = await issue()
  const { changes } = (await send('GET', `/v1/policy/delta?${project}&since=${since}`, by)).body
  assert.deepEqual([changes.length, changes[0].key_id], [1, newest.id])
  const list = await send('GET', `/v1/keys?${project}&limit=100`, by)
  assert.equal(list.body.data.length, 100)
  const found = await send('GET', `/v1/keys?q=BEN&limit=100&env=live`, by)
  assert.equal(found.body.data.length, 100)
  const people = Array.from({ length: 8 }, () => ({
    email: `${randomUUID()}@example.com`,
    password: 'four quiet otters swim',
  }))
  await Promise.all(people.map(body => send('POST', '/v1/auth/users', { body })))

  // A node that polls, and a revocation that waits for it.
  const { policy_version: known } = (await send('GET', `/v1/projects/${vendor.projectId}`, by)).body
  const poll = (from: number) =>
    send('GET', `/v1/policy/delta?${project}&since=${from}&node=one&env=live`, by)
  await poll(known)
  const revoking = send('POST', `/v1/keys/${list.body.data[50].id}/revoke?wait=true`, by)
  await until(async () => (await poll(known)).body.version > known)
  await poll(known + 1)
  const { acknowledged, nodes } = (await revoking).body.propagation
  assert.deepEqual([acknowledged, nodes], [true, 1])
  const peak = peakMiB(pid)
  assert.ok(peak < containerMiB, `${Math.round(peak)} MiB`)
  service.child.kill('SIGTERM')
  assert.equal((await service.ended).code, 0)
})

/** Reads every page, as a node does that starts. @returns how many keys there were. */
async function walkSnapshot(address: string, token: string): Promise<number> {
  let found = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    const url = cursor === '' ? address : `${address}&cursor=${cursor}`
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    const page = (await response.json()) as { keys: unknown[]; next_cursor: string | null }
    assert.equal(response.status, 200, JSON.stringify(page).slice(0, 300))
    found += page.keys.length
    cursor = page.next_cursor
  }
  return found
}

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { makeVendor } from '../../../server/test/vendor.ts'
import { failureOf } from '../../test/failure-of.ts'
import { id } from '../../test/keys.ts'
import { recordedAdmin } from '../../test/recorded-admin.ts'
import { startKeyrail } from '../../test/service.ts'
import { until } from '../../test/until.ts'
import { createAdmin } from '../admin.ts'
import type { KeyrailError } from '../runtime/errors.ts'

const { connection, port, service, vendor } = await startKeyrail()
const admin = createAdmin(connection)
const open = recordedAdmin(connection)
const place = { projectId: vendor.projectId, env: 'live' } as const
const makeTenant = (externalId = `org-${randomUUID()}`) => admin.tenants.create({ externalId })

/** Calls with the id of a tenant in their path. */
const byPath = (client: typeof admin, tenant: string): (() => Promise<unknown>)[] => [
  () => client.tenants.get(tenant),
  () => client.tenants.update(tenant, { name: 'New' }),
  () => client.tenants.revokeEmbedTokens(tenant),
  () => client.tenants.delete(tenant),
]
/** Calls with `tenantId`. */
const byField = (client: typeof admin, tenantId: string): (() => Promise<unknown>)[] => [
  () => client.keys.create({ ...place, tenantId }),
  () => client.embedTokens.create({ ...place, tenantId }),
  async () => client.keys.list({ tenantId }).page(),
]

test('`external:` and the vendor’s own id name a tenant wherever an id is taken', async () => {
  for (const externalId of [
    randomUUID(),
    `a b+c&d=e/f?g#h%20%2F..;"\\ é 😀 \u2028 ${randomUUID()}`,
    `external:${randomUUID()}`,
  ]) {
    const { id: tenant } = await makeTenant(externalId)
    const named = `external:${externalId}`
    assert.equal((await admin.tenants.get(named)).externalId, externalId)
    assert.equal((await admin.tenants.update(named, { name: 'Acme' })).id, tenant)
    const key = await admin.keys.create({ ...place, tenantId: named })
    assert.equal(key.tenantId, tenant)
    assert.equal((await admin.embedTokens.create({ ...place, tenantId: named })).tenantId, tenant)
    const second = await admin.keys.create({ ...place, tenantId: tenant })
    const listed: string[] = []
    for await (const each of admin.keys.list({ tenantId: named, limit: 1 })) listed.push(each.id)
    assert.deepEqual(listed, [second.id, key.id])
    assert.equal((await admin.tenants.revokeEmbedTokens(named)).tenantId, tenant)
    assert.equal((await admin.tenants.delete(named)).id, tenant)
  }
})

test('`external:` becomes external_id in a body or query, and a look-up in a path', async () => {
  const { id: tenant, externalId } = await makeTenant()
  const { admin: client, sent } = open()
  for (const call of byField(client, `external:${externalId}`)) await call()
  const body = { env: 'live', external_id: externalId, project_id: vendor.projectId }
  assert.deepEqual(
    sent.map(({ method, path, body }) => [method, path, body]),
    [
      ['POST', '/v1/keys', body],
      ['POST', '/v1/embed_tokens', body],
      ['GET', `/v1/keys?external_id=${externalId}`, undefined],
    ],
  )
  sent.length = 0
  for (const call of byPath(client, `external:${externalId}`)) await call()
  const lookup = `GET /v1/tenants?external_id=${externalId}`
  const path = `/v1/tenants/${tenant}`
  assert.deepEqual(
    sent.map(({ method, path }) => `${method} ${path}`),
    [`GET ${path}`, `PATCH ${path}`, `POST ${path}/embed_tokens/revoke`, `DELETE ${path}`].flatMap(call => [
      lookup,
      call,
    ]),
  )
})

test('an unknown, foreign or deleted external id is `not_found`, like an unknown id', async () => {
  const theirs = createAdmin({ ...connection, secretKey: (await makeVendor(service)).live })
  const { externalId: foreign } = await theirs.tenants.create({ externalId: randomUUID() })
  const { id: gone, externalId: deleted } = await makeTenant()
  await admin.tenants.delete(gone)
  const factsOf = ({ code, status, retryable }: KeyrailError) => ({ code, status, retryable })
  const { admin: client, sent } = open()
  for (const externalId of [randomUUID(), foreign, deleted]) {
    const named = `external:${externalId}`
    for (const [index, call] of byPath(client, named).entries()) {
      const error = await failureOf(call())
      const ofId = await failureOf(byPath(admin, id(1))[index]?.() ?? assert.fail())
      assert.deepEqual(factsOf(error), factsOf(ofId))
      assert.ok(error.message.includes(externalId), error.message)
    }
    for (const call of byField(client, named).slice(0, 2))
      assert.equal((await failureOf(call())).code, 'not_found')
    assert.deepEqual((await client.keys.list({ tenantId: named }).page()).data, [])
  }
  assert.ok(sent.every(({ method, path }) => method !== 'DELETE' && !path.startsWith('/v1/tenants/')))
  const { id: next } = await makeTenant(deleted)
  assert.equal((await admin.tenants.get(`external:${deleted}`)).id, next)
})

test('a look-up never returns a tenant with another external id', async () => {
  const { id: other } = await makeTenant()
  const { admin: client, sent, instead } = open()
  instead.push(() => fetch(`http://127.0.0.1:${port}/v1/tenants`, { headers: sent[0]?.headers ?? {} }))
  assert.equal((await failureOf(client.tenants.delete(`external:${randomUUID()}`))).code, 'not_found')
  assert.equal(sent.length, 1)
  assert.equal((await admin.tenants.get(other)).id, other)
})

test('an invalid tenant name is a TypeError or rejected by the service', async () => {
  const { admin: client, sent } = open()
  for (const call of [...byPath(client, 'external:'), ...byField(client, 'external:')])
    await assert.rejects(call, { name: 'TypeError', message: /^(?:tenantI|i)d must .* after external:$/ })
  for (const call of [
    () => client.keys.get('external:acme'),
    () => client.projects.delete('external:acme'),
    () => client.tenants.get('External:acme'),
  ])
    await assert.rejects(call, { name: 'TypeError', message: 'id must be a uuid' })
  assert.equal(sent.length, 0)
  const refused = async (running: Promise<unknown>) => {
    const { code, errors } = await failureOf(running)
    return [code, errors[0]?.path]
  }
  const long = `external:${'x'.repeat(201)}`
  assert.deepEqual(await refused(client.tenants.delete(long)), ['validation_failed', 'externalId'])
  // Both are sent: the service rejects them.
  const { externalId } = await makeTenant()
  const both = { tenantId: `external:${externalId}`, externalId: 'other' }
  assert.equal((await refused(client.keys.create({ ...place, ...both } as never)))[0], 'validation_failed')
  assert.equal((await refused(client.keys.list(both).page()))[0], 'validation_failed')
  assert.ok(sent.every(({ method }) => method !== 'DELETE'))
})

test('a failed look-up is retried, and its call is retried as with an id', async () => {
  const away = () => Promise.reject(new Error('away'))
  const { id: tenant, externalId } = await makeTenant()
  const { admin: client, sent, instead, timer } = open()
  const asked = () => sent.splice(0).map(({ method, path }) => `${method} ${path}`)
  const waited = async () => {
    await until(() => timer.delays.length === 1, 'it waits to retry')
    timer.pass(10_000)
  }
  const lookup = `GET /v1/tenants?external_id=${externalId}`
  const pass = (answer: () => Promise<Response>) => answer()

  instead.push(away, pass, away)
  const updating = client.tenants.update(`external:${externalId}`, { name: 'Acme' })
  await waited()
  await waited()
  assert.equal((await updating).name, 'Acme')
  const patch = `PATCH /v1/tenants/${tenant}`
  assert.deepEqual(asked(), [lookup, lookup, patch, patch])

  instead.push(away, pass, away)
  const deleting = failureOf(client.tenants.delete(`external:${externalId}`))
  await waited()
  assert.equal((await deleting).code, 'network_error')
  assert.deepEqual(asked(), [lookup, lookup, `DELETE /v1/tenants/${tenant}`])

  instead.push(away)
  const once = client.tenants.get(`external:${externalId}`, { maxRetries: 0 })
  assert.equal((await failureOf(once)).code, 'network_error')
  assert.deepEqual(asked(), [lookup])
})

test('a signal and a timeout apply to the look-up too', async () => {
  const { externalId } = await makeTenant()
  const hanging = open({
    fetch: (_, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('gone')))),
    maxRetries: 0,
  })
  const controller = new AbortController()
  const named = `external:${externalId}`
  const running = failureOf(hanging.admin.tenants.delete(named, { signal: controller.signal }))
  controller.abort()
  assert.equal((await running).code, 'aborted')
  assert.equal((await failureOf(hanging.admin.tenants.delete(named, { timeoutMs: 20 }))).code, 'timeout')
  assert.equal((await admin.tenants.get(named)).externalId, externalId)
})

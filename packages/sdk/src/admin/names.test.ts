import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { routes } from '../../../server/src/routes.ts'
import { failureOf } from '../../test/failure-of.ts'
import { id } from '../../test/keys.ts'
import { recordedAdmin } from '../../test/recorded-admin.ts'
import { startKeyrail } from '../../test/service.ts'
import { createAdmin } from '../admin.ts'
import { createEmbed } from '../embed/client.ts'
import { fromService, toService } from './names.ts'

const { connection, settings, vendor } = await startKeyrail()
const admin = createAdmin(connection)
const open = recordedAdmin(connection)
const place = { projectId: vendor.projectId, tenantId: vendor.tenantId, env: 'live' } as const

interface Schema {
  type?: string | readonly string[]
  properties?: Readonly<Record<string, Schema>>
  additionalProperties?: boolean | object
  items?: Schema
  anyOf?: readonly Schema[]
  enum?: readonly unknown[]
  const?: unknown
  /** What each of its values has, where the service judges them one by one. */
  'x-shape'?: Schema
}

/** Each schema in a schema, with the name of the member that it stands under. */
function* within(given: Schema, name = ''): Generator<{ schema: Schema; name: string }> {
  const schema = given['x-shape'] ?? given
  yield { schema, name }
  for (const part of [schema.items, ...(schema.anyOf ?? [])]) if (part) yield* within(part, name)
  for (const [member, part] of Object.entries(schema.properties ?? {})) yield* within(part, member)
}

/** What the admin client sends and receives. */
const parts = routes
  .filter(({ plane }) => plane === 'vendor')
  .flatMap(({ query, body, answer }) => [query, body ?? {}, answer.schema] as Schema[])
  .flatMap(schema => [...within(schema)].slice(1))

test('exactly `meta`, `payload` and `details` are objects with free names', () => {
  assert.ok(parts.length > 1_000)
  const free = parts.filter(({ schema }) => {
    const { type, properties, additionalProperties = false, anyOf, enum: values, const: value } = schema
    const isUnknown = type === undefined && anyOf === undefined && values === undefined && value === undefined
    const isObject = [type].flat().includes('object')
    return isUnknown || (isObject && (properties === undefined || additionalProperties !== false))
  })
  const names = new Set(free.map(({ name }) => name))
  assert.deepEqual([...names].toSorted(), ['details', 'meta', 'payload'])
  for (const name of names) {
    const value = { [name]: { some_name: 1, someName: 2 } }
    assert.equal(toService(value)[name], value[name])
    assert.equal(fromService(value)[name], value[name])
    // Nothing else has such a name, or it would be left unconverted.
    for (const { schema } of parts.filter(part => part.name === name))
      assert.deepEqual([[schema.type].flat()[0], schema.properties], ['object', undefined], name)
  }
})

test('every name of the contract becomes one in camelCase, and the same name again', () => {
  const names = new Set(parts.map(({ name }) => name))
  assert.ok(names.size > 100 && names.has('rate_limits'))
  for (const name of names) {
    const [ours = ''] = Object.keys(fromService({ [name]: 1 }))
    assert.match(ours, /^[a-z]+(?:[A-Z][a-z]+)*$/)
    assert.deepEqual(Object.keys(toService({ [ours]: 1 })), [name])
  }
  assert.equal(names.size, new Set([...names].map(name => Object.keys(fromService({ [name]: 1 }))[0])).size)
})

test('what the vendor stores is returned as it was, and the audit log as it is stored', async () => {
  const meta = { plan_name: 'gold', seatCount: 3, nested: [{ a_b: { c_d: 1 } }] }
  const { id: tenant } = await admin.tenants.create({ externalId: randomUUID(), meta })
  assert.deepEqual((await admin.tenants.get(tenant)).meta, meta)
  const { data } = await admin.auditLogs.list({ targetId: tenant }).page()
  assert.deepEqual([data.length, data[0]?.targetType], [1, 'tenant'])
  const logged = data[0]?.payload
  assert.deepEqual([typeof logged?.external_id, logged?.meta], ['string', meta])
  // Lists alone name the secret key.
  for await (const row of admin.auditLogs.export({ afterSeq: (data[0]?.seq ?? 0) - 1 }))
    assert.deepEqual({ ...row, actorSecretKey: data[0]?.actorSecretKey }, data[0])
})

test('members that a newer service adds are converted too, at every level', async () => {
  const { admin: client, instead } = open()
  const answer = {
    object: 'workspace',
    created_at: 'now',
    new_field: { inner_name: [{ deep_name: null, meta: { as_is: 1 } }], x_1: 1 },
  }
  instead.push(async () => Response.json(answer))
  assert.deepEqual(await client.workspace.get(), {
    object: 'workspace',
    createdAt: 'now',
    newField: { innerName: [{ deepName: null, meta: { as_is: 1 } }], x_1: 1 },
  })
})

test('an answer with any name or depth harms nothing', async () => {
  const { admin: client, instead } = open()
  const answer = (more: string) => async () => new Response(`{"object":"workspace",${more}}`)
  instead.push(answer('"__proto__":{"is_owner":true}'))
  const odd = await client.workspace.get()
  assert.equal(Object.getPrototypeOf(odd), Object.prototype)
  assert.equal((odd as { isOwner?: boolean }).isOwner, undefined)
  instead.push(answer(`"deep":${'['.repeat(50_000)}${']'.repeat(50_000)}`))
  assert.equal((await client.workspace.get()).object, 'workspace')
})

test('a name of the service is refused before anything is sent, and the error has the right one', async () => {
  const { admin: client, sent } = open()
  const { createToken } = createEmbed(settings)
  const rule = { id: 'a', limit: 1, window_ms: 1_000, algorithm: 'fixed', scope: 'key' }
  const wrong = (value: object) => value as never
  for (const [call, name, right] of [
    [() => client.keys.create(wrong({ ...place, tenant_id: id(1) })), 'tenant_id', 'tenantId'],
    [() => client.keys.update(id(1), wrong({ rateLimits: [rule] })), 'window_ms', 'windowMs'],
    [() => client.keys.list(wrong({ tenant_id: id(1) })).page(), 'tenant_id', 'tenantId'],
    [() => client.tenants.update('external:acme', wrong({ new_name: 'x' })), 'new_name', 'newName'],
    [() => client.members.remove(id(1), wrong({ revoke_keys: true })), 'revoke_keys', 'revokeKeys'],
    [() => client.keys.rotate(id(1), wrong({ overlap_hours: 0 })), 'overlap_hours', 'overlapHours'],
    [() => createToken(wrong({ external_id: 'acme' })), 'external_id', 'externalId'],
  ] as const)
    await assert.rejects(call, {
      name: 'TypeError',
      message: `This call has no field "${name}": it is called "${right}"`,
    })
  const rows = client.auditLogs.export(wrong({ after_seq: 7 }))[Symbol.asyncIterator]()
  await assert.rejects(rows.next() as Promise<unknown>, { name: 'TypeError', message: /"afterSeq"$/ })
  assert.deepEqual(sent, [])
})

test('an unknown name in camelCase is sent, and refused by the service under that name', async () => {
  const { admin: client, sent } = open()
  for (const name of ['newField', 'tenantID', 'x', 'aURL']) {
    const { code, errors, message } = await failureOf(client.keys.create({ ...place, [name]: 1 }))
    assert.deepEqual([code, errors], ['validation_failed', [{ path: name, message: 'is not a known field' }]])
    assert.ok(message.endsWith(`: ${name}: is not a known field`), message)
  }
  assert.equal(sent.length, 4)
})

test('a refused field has the path and the names of the caller, except in opaque values', async () => {
  const rule = { id: 'a', limit: 1, windowMs: 1, algorithm: 'fixed', scope: 'key' } as const
  const deep = { a_b: { c_d: 'x\u0000' } }
  for (const [call, path, message] of [
    [() => admin.keys.create({ ...place, rateLimits: [rule] }), 'rateLimits.0.windowMs', /^must be >= 1000$/],
    [() => admin.keys.create({ ...place, meta: deep }), 'meta.a_b.c_d', /./],
    [() => admin.keys.list({ projectId: 'x' }).page(), 'projectId', /^must be a valid UUID$/],
    [
      () => admin.keys.create({ ...place, externalId: 'acme' } as never),
      'externalId',
      /^must not be given beside tenantId$/,
    ],
    [
      () => admin.secretKeys.create({ env: 'live', permissions: ['x' as 'keys:read'] }),
      'permissions.0',
      // The list of permissions is longer than what is kept of a message.
      /secret_keys:/,
    ],
    [
      () => admin.auditLogs.export({ afterSeq: -1 })[Symbol.asyncIterator]().next() as Promise<unknown>,
      'afterSeq',
      /./,
    ],
  ] as const) {
    const { code, errors, message: text, status, requestId } = await failureOf(call())
    assert.deepEqual([code, status, errors.length, errors[0]?.path], ['validation_failed', 400, 1, path])
    assert.match(errors[0]?.message ?? '', message)
    assert.ok(`${text} `.includes(`: ${path}: ${errors[0]?.message.slice(0, 200)}`), text)
    assert.match(requestId ?? '', /^req_/)
  }
})

test('what an imported row lacks has the path and the names of the caller', async () => {
  const digest = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
  const rule = { id: 'a', limit: 1, windowMs: 1, algorithm: 'fixed', scope: 'key' } as const
  const wrong = [
    { externalId: randomUUID(), digest },
    { tenantId: vendor.tenantId, externalId: 'acme', digest },
    { tenantId: vendor.tenantId, digest, rateLimits: [rule] },
    { tenantId: vendor.tenantId, digest, allowedCidrs: ['x'] },
  ]
  const { projectId, env } = place
  const { rows, invalid } = await admin.keys.import({ projectId, env, rows: wrong as never })
  assert.equal(invalid, 4)
  const faults = rows.map(({ errors = [] }) => errors.map(({ path, message }) => `${path} ${message}`))
  assert.deepEqual(faults[0], ['externalId is the externalId of no tenant'])
  assert.deepEqual(faults[1], ['externalId must not be given beside tenantId'])
  assert.match(faults[2]?.join() ?? '', /^rateLimits\.0\.windowMs must be >= 1000$/)
  assert.match(faults[3]?.join() ?? '', /^allowedCidrs\.0 /)
  const right = { tenantId: vendor.tenantId, digest }
  const made = await admin.keys.import({ projectId, env, dryRun: true, rows: [right] })
  assert.deepEqual(made.rows, [{ status: 'created', id: null, active: true }])
})

test('a body may have values that JSON writes in their own way', async () => {
  const ends = new Date(Date.now() + 86_400_000)
  const { expiresAt } = await admin.keys.create({ ...place, expiresAt: ends as unknown as string })
  assert.equal(expiresAt, ends.toISOString())
  class Names {
    externalId = randomUUID()
    toJSON() {
      return this
    }
  }
  const made = new Names()
  assert.equal((await admin.tenants.create(made)).externalId, made.externalId)
})

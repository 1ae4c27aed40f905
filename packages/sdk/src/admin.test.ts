import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import type { Deps } from '../../server/src/deps.ts'
import type { Route } from '../../server/src/gate/route.ts'
import { routes } from '../../server/src/routes.ts'
import { failureOf } from '../test/failure-of.ts'
import { drawKey, id } from '../test/keys.ts'
import { recordedAdmin } from '../test/recorded-admin.ts'
import { startKeyrail } from '../test/service.ts'
import { until } from '../test/until.ts'
import { type AdminOptions, createAdmin } from './admin.ts'

const { connection, vendor, issue } = await startKeyrail()
const admin = createAdmin(connection)
const open = recordedAdmin(connection)
const slug = () => `p-${randomUUID().slice(0, 8)}`

const failure = (running: Promise<unknown>) => failureOf(running, connection.secretKey)

const away = () => Promise.reject(new Error(`away ${connection.secretKey}`))

test('a vendor creates, changes, rotates and revokes a project, a tenant and a key', async () => {
  const project = await admin.projects.create({ name: 'Payments', slug: slug() })
  assert.equal((await admin.projects.update(project.id, { name: 'Pay' })).name, 'Pay')
  const tenant = await admin.tenants.create({ externalId: slug(), allowedCidrs: ['203.0.113.7'] })
  assert.deepEqual((await admin.tenants.get(tenant.id)).allowedCidrs, ['203.0.113.7/32'])
  const made = await admin.keys.create({
    projectId: project.id,
    tenantId: tenant.id,
    env: 'live',
    scopes: ['a'],
  })
  assert.match(made.key ?? '', /^kr_live_/)
  assert.deepEqual((await admin.keys.update(made.id, { allowedCidrs: [] })).allowedCidrs, [])
  const rotated = await admin.keys.rotate(made.id, { overlapHours: 0 })
  assert.equal(rotated.predecessor.id, made.id)
  const revoked = await admin.keys.revoke(rotated.id, { reason: 'done', wait: true })
  assert.deepEqual([revoked.revokedReason, revoked.propagation?.acknowledged], ['done', true])
  assert.equal((await admin.keys.usage(rotated.id, { days: 1 })).total, 0)
  const suspended = await admin.tenants.suspend(tenant.id, { reason: 'unpaid', wait: true })
  assert.deepEqual([suspended.suspendedReason, suspended.propagation?.acknowledged], ['unpaid', true])
  const resumed = await admin.tenants.resume(tenant.id)
  assert.deepEqual([resumed.suspendedAt, resumed.propagation], [null, undefined])
  assert.deepEqual((await admin.tenants.delete(tenant.id)).deleted, true)
  assert.equal((await failure(admin.tenants.get(tenant.id))).code, 'not_found')
})

test('a key is found by itself, by its name and by its status', async () => {
  const { id, key = '' } = await issue({
    name: 'Sent to support',
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  })
  assert.equal((await admin.keys.identify(key)).id, id)
  const unknown = await failure(admin.keys.identify(`${key}x`))
  assert.equal(unknown.code, 'not_found')
  assert.ok(!inspect(unknown, { depth: 9, showHidden: true }).includes(key.slice(10)))
  for (const query of [{ q: 'sent to' }, { status: 'expiring', q: id }] as const) {
    assert.deepEqual(
      (await admin.keys.list(query).page()).data.map(found => found.id),
      [id],
    )
  }
  const [project] = (await admin.projects.list({ q: vendor.projectId }).page()).data
  const [tenant] = (await admin.tenants.list({ q: vendor.tenantId }).page()).data
  assert.deepEqual([project?.id, tenant?.id], [vendor.projectId, vendor.tenantId])
})

test('a key is verified by one call, which is not repeated and names no key in an error', async () => {
  const limit = { id: 'month', limit: 1, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }
  const { id, key = '' } = await issue({ scopes: ['a'], meta: { own_name: 1 }, rate_limits: [limit] })
  const { projectId } = vendor
  const verified = await admin.keys.verify({ key, projectId, scopes: ['a'] })
  assert.deepEqual([verified.valid, verified.code, verified.key?.id], [true, 'valid', id])
  assert.deepEqual([verified.key?.meta, verified.limits[0]?.remaining], [{ own_name: 1 }, 0])
  assert.equal(verified.headers['RateLimit-Policy'], '"month";q=1;w=2678400')
  assert.equal((await admin.keys.verify({ key, projectId })).code, 'rate_limited')
  assert.equal((await admin.keys.verify({ key: `${key}x`, projectId })).code, 'malformed_key')
  const { admin: client, sent, instead } = open()
  instead.push(away)
  const lost = await failure(client.keys.verify({ key, projectId }))
  assert.deepEqual([lost.code, sent.length], ['network_error', 1])
  assert.ok(!inspect(lost, { depth: 9, showHidden: true }).includes(key.slice(10)))
})

test('many keys are counted, paused, resumed and revoked with one call each', async () => {
  const tenant = await admin.tenants.create({ externalId: slug() })
  const ids = [(await issue({ tenant_id: tenant.id })).id, (await issue({ tenant_id: tenant.id })).id]
  const filter = { tenantId: tenant.id }
  const { count } = await admin.keys.count({ action: 'disable', filter })
  assert.equal(count, 2)
  const wrong = await failure(admin.keys.disableMany({ filter, expect: 3 }))
  assert.deepEqual([wrong.code, wrong.status, wrong.errors[0]?.path], ['count_changed', 409, 'expect'])
  const paused = await admin.keys.disableMany({ filter, expect: count, reason: 'unpaid', wait: true })
  assert.deepEqual([paused.status, paused.done, paused.propagation?.acknowledged], ['done', 2, true])
  const { propagation: _, ...stored } = paused
  assert.deepEqual(await admin.keys.getBulk(paused.id), stored)
  assert.equal((await admin.keys.enableMany({ ids })).done, 2)
  assert.equal((await admin.keys.revokeMany({ ids, reason: 'over' })).done, 2)
  assert.equal((await admin.keys.get(ids[0] ?? '')).revokedReason, 'over')
})

test('an embed token is minted for one tenant', async () => {
  const { token, scopes } = await admin.embedTokens.create({
    projectId: vendor.projectId,
    tenantId: vendor.tenantId,
    env: 'live',
  })
  assert.deepEqual(scopes, ['keys:read'])
  assert.equal(token.split('.').length, 3)
})

test('a list is read page by page to its end, and only as far as the caller iterates', async () => {
  const tenant = await admin.tenants.create({ externalId: slug() })
  const ids: string[] = []
  for (let key = 0; key < 5; key++) ids.unshift((await issue({ tenant_id: tenant.id })).id)
  const { admin: client, sent } = open()
  const query = { tenantId: tenant.id, limit: 2 }
  const listed: string[] = []
  for await (const key of client.keys.list(query)) listed.push(key.id)
  assert.deepEqual([listed, sent.length], [ids, 3])
  for await (const key of client.keys.list(query)) if (key.id === ids[1]) break
  assert.equal(sent.length, 4)
  const page = await client.keys.list(query).page()
  assert.deepEqual([page.data.length, page.hasMore], [2, true])
  const next = await client.keys.list({ ...query, cursor: page.nextCursor ?? '' }).page()
  assert.equal(next.data[0]?.id, ids[2])
})

/** Routes of the vendor plane without a method. */
const leftOut: Readonly<Record<string, string>> = {
  createWorkspace: 'takes the bootstrap token or a session, since no secret key exists yet',
}
/** Routes of other planes with a method. */
const besides = ['verifyKey']
/** Planes whose other routes other parts of the SDK call with a secret key. */
const elsewhere: Readonly<Record<string, string>> = {
  feed: 'createKeyring calls it',
  hot: 'createLimiter and createIdempotency call it',
  report: 'createUsageReporter calls it',
}

test('every route of the vendor plane has exactly one method, whose comment names it', () => {
  const read = (name: string) => readFileSync(join(import.meta.dirname, 'admin', name), 'utf8')
  const source = read('open.ts') + read('key-calls.ts')
  const exported = read('export.ts')
  // The compiler compares each name, and the rest of its call, with the contract (`admin/calls.ts`).
  const route = String.raw`([A-Z]+ \/[\w/:.]+)`
  const called = [
    ...source.matchAll(new RegExp(String.raw`\b(?:call|list|create|read|one|change)\(\s*'${route}'`, 'g')),
  ]
  const streamed = [...exported.matchAll(new RegExp(`'${route}' satisfies RouteName`, 'g'))]
  const names = [...called, ...streamed].map(([, name]) => name)
  const documented = [...source.matchAll(new RegExp(String.raw`\*\s+\`${route}\``, 'g'))].map(
    ([, name]) => name,
  )
  assert.deepEqual(documented.toSorted(), names.toSorted())
  const takesSecretKey = ({ access }: Route) => !access.open && access.credentials.includes('secret_key')
  const [covered, others] = [true, false].map(isVendor =>
    routes.filter(
      route =>
        takesSecretKey(route) && (route.plane === 'vendor' || besides.includes(route.operation)) === isVendor,
    ),
  ) as [Route<Deps>[], Route<Deps>[]]
  const uncovered = routes.filter(({ plane }) => plane === 'vendor').filter(route => !covered.includes(route))
  assert.deepEqual(
    uncovered.map(({ operation }) => operation),
    Object.keys(leftOut),
  )
  assert.deepEqual([...new Set(others.map(({ plane }) => plane))].toSorted(), Object.keys(elsewhere))
  assert.deepEqual(names.toSorted(), covered.map(({ method, path }) => `${method} ${path}`).toSorted())
})

test('a create whose answer is lost is repeated under the same key, and makes one resource', async () => {
  const { admin: client, timer, sent, instead } = open()
  const externalId = slug()
  instead.push(
    async pass => {
      await pass()
      return away()
    },
    async () => new Response('', { status: 502, headers: { 'retry-after': '3' } }),
  )
  const creating = client.tenants.create({ externalId })
  await until(() => timer.delays.length === 1, 'it waits to retry')
  assert.deepEqual(timer.delays, [250])
  timer.pass(250)
  await until(() => timer.delays.length === 1, 'it waits again')
  assert.deepEqual(timer.delays, [3_000])
  timer.pass(3_000)
  const tenant = await creating
  assert.equal(tenant.externalId, externalId)
  const keys = new Set(sent.map(({ headers }) => headers.get('idempotency-key')))
  assert.deepEqual([sent.length, keys.size], [3, 1])
  await client.tenants.create({ externalId: slug() }, { idempotencyKey: 'mine' })
  assert.equal(sent.at(-1)?.headers.get('idempotency-key'), 'mine')
  const before = sent.length
  for (const idempotencyKey of ['ключ', 'a\nb', '', 'x'.repeat(256), 7 as unknown as string]) {
    const creating = client.tenants.create({ externalId: slug() }, { idempotencyKey })
    await assert.rejects(creating, { name: 'TypeError', message: /^idempotencyKey must be / })
  }
  assert.equal(sent.length, before)
})

test('neither unsafe calls nor permanent errors are retried', async () => {
  const { admin: client, sent, instead } = open()
  const tenant = await admin.tenants.create({ externalId: slug() })
  instead.push(away)
  assert.equal((await failure(client.tenants.delete(tenant.id))).code, 'network_error')
  assert.equal(sent.length, 1)
  const error = await failure(
    client.keys.create({ projectId: id(1), tenantId: id(2), env: 'prod' as 'live' }),
  )
  assert.deepEqual([error.code, error.status, error.retryable], ['validation_failed', 400, false])
  assert.match(error.requestId ?? '', /^req_/)
  assert.match(error.message, /^POST \/v1\/keys was answered 400 validation_failed: env/)
  assert.deepEqual(
    error.errors.map(({ path }) => path),
    ['env'],
  )
  assert.equal(sent.length, 2)
})

test('retries end after as many as the caller sets', async () => {
  const { admin: client, timer, sent, instead } = open({ maxRetries: 1 })
  instead.push(away, away, away)
  const running = failure(client.projects.list().page())
  await until(() => timer.delays.length === 1, 'it waits to retry')
  timer.pass(10_000)
  assert.equal((await running).code, 'network_error')
  assert.equal(sent.length, 2)
  assert.equal((await failure(client.workspace.get({ maxRetries: 0 }))).code, 'network_error')
  assert.equal(sent.length, 3)
})

test('a signal aborts a call before, during and between attempts', async () => {
  const { admin: client, timer, sent, instead } = open()
  const giveUp = async (before: () => Promise<unknown>) => {
    const controller = new AbortController()
    const running = failure(client.workspace.get({ signal: controller.signal }))
    await before()
    controller.abort()
    assert.equal((await running).code, 'aborted')
  }
  instead.push(away)
  await giveUp(() => until(() => timer.delays.length === 1, 'it waits to retry'))
  assert.deepEqual(timer.delays, [])
  const aborted = failure(client.workspace.get({ signal: AbortSignal.abort() }))
  assert.equal((await aborted).code, 'aborted')
  assert.equal(sent.length, 1)
  const hanging = open({
    fetch: (_, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('gone')))),
    maxRetries: 0,
  })
  const controller = new AbortController()
  const running = failure(hanging.admin.workspace.get({ signal: controller.signal }))
  controller.abort()
  assert.equal((await running).code, 'aborted')
  assert.equal((await failure(hanging.admin.workspace.get({ timeoutMs: 20 }))).code, 'timeout')
})

test('an answer of another type is an error, and an id cannot change the path', async () => {
  const { admin: client, sent, instead } = open({ maxRetries: 0 })
  for (const answer of ['<html>', '[]', 'null', '{"object":"list"}']) {
    instead.push(async () => new Response(answer))
    assert.equal((await failure(client.workspace.get())).code, 'bad_response', answer)
  }
  sent.length = 0
  for (const wrong of ['', '..', '../projects', 'x']) {
    await assert.rejects(async () => client.keys.get(wrong), TypeError)
    await assert.rejects(client.keys.revoke(wrong), TypeError)
  }
  assert.equal(sent.length, 0)
})

test('a wrong option is an error at startup, and so is a browser', () => {
  for (const [name, wrong] of [
    ['url', ''],
    ['secretKey', drawKey()],
    ['timeoutMs', -1],
    ['maxRetries', 11],
    ['retries', 1],
  ] as const) {
    assert.throws(() => createAdmin({ ...connection, [name]: wrong } as AdminOptions), new RegExp(name))
  }
  const versions = Object.getOwnPropertyDescriptor(process, 'versions') as PropertyDescriptor
  Object.assign(globalThis, { document: {} })
  createAdmin(connection)
  Object.defineProperty(process, 'versions', { ...versions, value: {} })
  try {
    assert.throws(() => createAdmin(connection), /must never be in a browser/)
  } finally {
    Object.defineProperty(process, 'versions', versions)
    Reflect.deleteProperty(globalThis, 'document')
  }
})

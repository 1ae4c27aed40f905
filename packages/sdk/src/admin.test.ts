import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import type { Route } from '../../server/src/gate/route.ts'
import { routes } from '../../server/src/routes.ts'
import { drawKey, id } from '../test/keys.ts'
import { ManualTimer } from '../test/manual-timer.ts'
import { startKeyrail } from '../test/service.ts'
import { until } from '../test/until.ts'
import { openAdmin } from './admin/open.ts'
import { type AdminOptions, createAdmin } from './admin.ts'
import { KeyrailError } from './runtime/errors.ts'

const { connection, vendor, issue } = await startKeyrail()
const admin = createAdmin(connection)
const slug = () => `p-${randomUUID().slice(0, 8)}`

interface Sent {
  method: string
  path: string
  headers: Headers
  body: unknown
}

/** A client whose requests are kept, and answered by the service unless a test does. */
function open(options: Partial<AdminOptions> = {}) {
  const timer = new ManualTimer()
  const sent: Sent[] = []
  const instead: ((pass: () => Promise<Response>) => Promise<Response>)[] = []
  const recorded: typeof fetch = (url, init) => {
    const { pathname, search } = new URL(String(url))
    const body = init?.body === undefined ? undefined : JSON.parse(String(init.body))
    sent.push({
      method: String(init?.method),
      path: pathname + search,
      headers: new Headers(init?.headers),
      body,
    })
    const pass = () => fetch(url, init)
    return instead.shift()?.(pass) ?? pass()
  }
  const client = openAdmin({ ...connection, fetch: recorded, ...options }, { timer, random: () => 0.5 })
  return { admin: client, timer, sent, instead }
}

async function failure(running: Promise<unknown>): Promise<KeyrailError> {
  const error = await running.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof KeyrailError, String(error))
  assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(connection.secretKey.slice(10)))
  return error
}

const away = () => Promise.reject(new Error(`away ${connection.secretKey}`))

test('a project, a tenant and a key are made, changed, rotated and revoked as a vendor would', async () => {
  const project = await admin.projects.create({ name: 'Payments', slug: slug() })
  assert.equal((await admin.projects.update(project.id, { name: 'Pay' })).name, 'Pay')
  const tenant = await admin.tenants.create({ external_id: slug(), meta: { plan: 'gold' } })
  assert.deepEqual((await admin.tenants.get(tenant.id)).meta, { plan: 'gold' })
  const made = await admin.keys.create({
    project_id: project.id,
    tenant_id: tenant.id,
    env: 'live',
    scopes: ['a'],
  })
  assert.match(made.key ?? '', /^kr_live_/)
  assert.deepEqual((await admin.keys.update(made.id, { scopes: ['b'] })).scopes, ['b'])
  const rotated = await admin.keys.rotate(made.id, { overlap_hours: 0 })
  assert.equal(rotated.predecessor.id, made.id)
  const revoked = await admin.keys.revoke(rotated.id, { reason: 'done', wait: true })
  assert.deepEqual([revoked.revoked_reason, revoked.propagation?.acknowledged], ['done', true])
  assert.equal((await admin.keys.usage(rotated.id, { days: 1 })).total, 0)
  assert.deepEqual((await admin.tenants.delete(tenant.id)).deleted, true)
  assert.equal((await failure(admin.tenants.get(tenant.id))).code, 'not_found')
})

test('an embed token is minted for one tenant', async () => {
  const { token, scopes } = await admin.embedTokens.create({
    project_id: vendor.projectId,
    tenant_id: vendor.tenantId,
    env: 'live',
  })
  assert.deepEqual(scopes, ['keys:read'])
  assert.equal(token.split('.').length, 3)
})

test('a list is read to its end, page after page, and no further than it is asked for', async () => {
  const tenant = await admin.tenants.create({ external_id: slug() })
  const ids: string[] = []
  for (let key = 0; key < 5; key++) ids.unshift((await issue({ tenant_id: tenant.id })).id)
  const { admin: client, sent } = open()
  const query = { tenant_id: tenant.id, limit: 2 }
  const listed: string[] = []
  for await (const key of client.keys.list(query)) listed.push(key.id)
  assert.deepEqual([listed, sent.length], [ids, 3])
  for await (const key of client.keys.list(query)) if (key.id === ids[1]) break
  assert.equal(sent.length, 4)
  const page = await client.keys.list(query).page()
  assert.deepEqual([page.data.length, page.has_more], [2, true])
  const next = await client.keys.list({ ...query, cursor: page.next_cursor ?? '' }).page()
  assert.equal(next.data[0]?.id, ids[2])
})

/** Routes of the vendor plane that it has no method for. */
const leftOut: Readonly<Record<string, string>> = {
  createWorkspace: 'takes the bootstrap token or a person, since no secret key is there yet',
}
/** Planes whose routes take a secret key and are called by other parts of the SDK. */
const elsewhere: Readonly<Record<string, string>> = {
  feed: 'createKeyring follows it',
  hot: 'createLimiter and createIdempotency ask there',
  report: 'createUsageReporter reports there',
}

test('every route of the vendor plane has its method, and none is made up', async () => {
  const { admin: client, sent } = open({
    fetch: (url, init) => {
      sent.push({
        method: String(init?.method),
        path: new URL(String(url)).pathname.replaceAll(id(1), ':id'),
        headers: new Headers(init?.headers),
        body: init?.body,
      })
      return Promise.reject(new Error('not sent'))
    },
    maxRetries: 0,
  })
  for (const room of Object.values(client)) {
    for (const [name, method] of Object.entries(room) as [string, (...given: unknown[]) => unknown][]) {
      const takesNoId = ['create', 'list', 'billing', 'tenants', 'export'].includes(name)
      const asked = method(...(takesNoId ? [{}] : [id(1), {}]))
      const rows = (asked as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator]?.()
      await failure(rows ? rows.next() : (asked as Promise<unknown>))
    }
  }
  const takesSecretKey = ({ access }: Route) => !access.open && access.credentials.includes('secret_key')
  const [covered, others] = [true, false].map(isVendor =>
    routes.filter(route => takesSecretKey(route) && (route.plane === 'vendor') === isVendor),
  ) as [Route[], Route[]]
  const uncovered = routes.filter(({ plane }) => plane === 'vendor').filter(route => !covered.includes(route))
  assert.deepEqual(
    uncovered.map(({ operation }) => operation),
    Object.keys(leftOut),
  )
  assert.deepEqual([...new Set(others.map(({ plane }) => plane))].toSorted(), Object.keys(elsewhere))
  assert.deepEqual(
    sent.map(({ method, path }) => `${method} ${path}`).toSorted(),
    covered.map(({ method, path }) => `${method} ${path.replace(/:\w+/, ':id')}`).toSorted(),
  )
  const source = readFileSync(join(import.meta.dirname, 'admin', 'open.ts'), 'utf8')
  for (const { method, path } of covered)
    assert.equal(source.split(`\`${method} ${path}\``).length, 2, `${method} ${path} is told at one method`)
  const keyed = sent.filter(({ headers }) => headers.has('idempotency-key'))
  assert.deepEqual(
    keyed.map(({ method, path }) => `${method} ${path}`).toSorted(),
    covered
      .filter(({ replayable }) => replayable)
      .map(({ method, path }) => `${method} ${path}`)
      .toSorted(),
  )
})

test('a create whose answer was lost is asked for again under the same key, and makes one resource', async () => {
  const { admin: client, timer, sent, instead } = open()
  const external_id = slug()
  instead.push(
    async pass => {
      await pass()
      return away()
    },
    async () => new Response('', { status: 502, headers: { 'retry-after': '3' } }),
  )
  const creating = client.tenants.create({ external_id })
  await until(() => timer.delays.length === 1, 'it waits to ask again')
  assert.deepEqual(timer.delays, [250])
  timer.pass(250)
  await until(() => timer.delays.length === 1, 'it waits once more')
  assert.deepEqual(timer.delays, [3_000])
  timer.pass(3_000)
  const tenant = await creating
  assert.equal(tenant.external_id, external_id)
  const keys = new Set(sent.map(({ headers }) => headers.get('idempotency-key')))
  assert.deepEqual([sent.length, keys.size], [3, 1])
  await client.tenants.create({ external_id: slug() }, { idempotencyKey: 'mine' })
  assert.equal(sent.at(-1)?.headers.get('idempotency-key'), 'mine')
  const before = sent.length
  for (const idempotencyKey of ['ключ', 'a\nb', '', 'x'.repeat(256), 7 as unknown as string]) {
    const creating = client.tenants.create({ external_id: slug() }, { idempotencyKey })
    await assert.rejects(creating, { name: 'TypeError', message: /^idempotencyKey must be / })
  }
  assert.equal(sent.length, before)
})

test('what is not safe to repeat is not repeated, and what is refused for what it is neither', async () => {
  const { admin: client, sent, instead } = open()
  const tenant = await admin.tenants.create({ external_id: slug() })
  instead.push(away)
  assert.equal((await failure(client.tenants.delete(tenant.id))).code, 'network_error')
  assert.equal(sent.length, 1)
  const error = await failure(
    client.keys.create({ project_id: id(1), tenant_id: id(2), env: 'prod' as 'live' }),
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

test('retries end, and their number is the caller’s to say', async () => {
  const { admin: client, timer, sent, instead } = open({ maxRetries: 1 })
  instead.push(away, away, away)
  const running = failure(client.projects.list().page())
  await until(() => timer.delays.length === 1, 'it waits to ask again')
  timer.pass(10_000)
  assert.equal((await running).code, 'network_error')
  assert.equal(sent.length, 2)
  assert.equal((await failure(client.workspace.get({ maxRetries: 0 }))).code, 'network_error')
  assert.equal(sent.length, 3)
})

test('a signal gives a call up, under way, between two attempts and before the first', async () => {
  const { admin: client, timer, sent, instead } = open()
  const giveUp = async (before: () => Promise<unknown>) => {
    const controller = new AbortController()
    const running = failure(client.workspace.get({ signal: controller.signal }))
    await before()
    controller.abort()
    assert.equal((await running).code, 'aborted')
  }
  instead.push(away)
  await giveUp(() => until(() => timer.delays.length === 1, 'it waits to ask again'))
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

test('an answer that is not what was asked for is an error, and an id leads to no other path', async () => {
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

test('a mistake in the options is an error at start, and a page around it too', () => {
  for (const [name, wrong] of [
    ['baseUrl', ''],
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

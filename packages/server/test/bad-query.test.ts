import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { auditActions } from '@keyrail/contract/vendor/audit'
import type { Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { formatEdges, patternEdges } from './edge-texts.ts'
import { mintToken } from './embed.ts'
import { startHarness } from './harness.ts'
import { nameOf, sampleOf, withQuery } from './samples.ts'
import { type Fragment, readField, specRows } from './spec-rows.ts'
import { issueKey, makeVendor, uniqueSlug, type Vendor } from './vendor.ts'

/** Every query parameter at its bounds and in every invalid form, and cursors from other lists. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)

const pageFields = { limit: readField('integer 1 to 200, default 50'), cursor: readField('string 1 to 512') }
const q = readField('string 1 to 64')
const ids = readField('TenantIds')
const beyond: Record<string, object> = {
  'GET /v1/projects': { ...pageFields, q, ids },
  'GET /v1/tenants': { ...pageFields, q, ids },
  'GET /v1/keys': {
    ...pageFields,
    q,
    external_id: readField('string 1 to 200'),
    status: { schema: { type: 'string', enum: ['active', 'expiring', 'expired', 'revoked'] } },
  },
  'GET /v1/embed/keys': { cursor: pageFields.cursor },
  'GET /v1/secret_keys': {
    ...pageFields,
    env: readField('Env'),
    include_revoked: readField('true or false'),
  },
  'DELETE /v1/members/:userId': { revoke_keys: readField('true or false') },
  'GET /v1/audit_logs': {
    ...pageFields,
    before_seq: readField('integer at least 1'),
    order: { schema: { type: 'string', enum: ['asc', 'desc'] } },
    action: { schema: { type: 'string', enum: [...auditActions] } },
    actor_id: readField('Node'),
    target_id: readField('uuid'),
    env: readField('Env'),
  },
  'GET /v1/projects/:id/nodes': pageFields,
  'GET /v1/overview': { env: readField('Env') },
  'GET /v1/usage/tenants': {
    month: { schema: { type: 'string', pattern: '^[1-9][0-9]{3}-(0[1-9]|1[0-2])-01$' } },
  },
  'GET /v1/usage/top': {
    by: { schema: { type: 'string', enum: ['tenant', 'project', 'key'] } },
    env: readField('Env'),
    days: readField('integer 1 to 30, default 30'),
    project_id: readField('uuid'),
    tenant_id: readField('uuid'),
    most: readField('integer 1 to 20, default 5'),
  },
  'GET /v1/usage/refusals': {
    project_id: readField('uuid'),
    env: readField('Env'),
    days: readField('integer 1 to 90, default 30'),
  },
  'GET /v1/usage/daily': {
    project_id: readField('uuid'),
    tenant_id: readField('uuid'),
    external_id: readField('string 1 to 200'),
    env: readField('Env'),
    days: readField('integer 1 to 90, default 30'),
  },
}

const queries = routes.flatMap(route => {
  const row = specRows.find(({ method, path }) => method === route.method && path === route.path)
  const fields = { ...row?.query, ...beyond[nameOf(route)] } as Record<string, { schema: Fragment }>
  return Object.entries(fields).map(([name, { schema }]) => ({ route, name, schema }))
})

/** Percent-encoded texts that are not plain decimal integers, whatever the bounds. */
const noIntegers = [
  '',
  '0x10',
  '1e2',
  '%2B5',
  '+5',
  '010',
  '1.5',
  '1.0',
  '%205',
  '5%20',
  '1_0',
  '1,0',
  '٣',
  'NaN',
  'null',
  'true',
  '%5B5%5D',
  '9'.repeat(40),
]

/** Values that cannot be decoded to text, whatever the parameter. */
const noText = ['%00', '%zz', '%', '%E2%82', '%FF', '%ED%A0%80', '%C0%80']

function edgesOf(name: string, schema: Fragment): { taken: string[]; refused: string[] } {
  if (name === 'cursor')
    return { taken: [], refused: ['', 'x', 'A'.repeat(32), 'a'.repeat(512), 'a'.repeat(513)] }
  if (schema.type === 'integer') {
    const [least, most] = [Number(schema.minimum), Number(schema.maximum ?? 999_999_999_999_999)]
    const beyondMost = schema.maximum === undefined ? [] : [`${most + 1}`]
    return { taken: [`${least}`, `${most}`], refused: [...noIntegers, `${least - 1}`, '-1', ...beyondMost] }
  }
  if (schema.enum !== undefined) {
    const values = schema.enum as string[]
    return {
      taken: values,
      refused: ['', '1', 'null', ...values.flatMap(v => [v.toUpperCase(), `${v}%20`, `${v},${v}`])],
    }
  }
  const noUuids = (formatEdges.uuid?.bad ?? []).map(encodeURIComponent)
  const pattern = patternEdges[String(schema.pattern)]
  if (pattern !== undefined) {
    const { ok, bad } = pattern
    return { taken: ok.map(encodeURIComponent), refused: bad.map(encodeURIComponent) }
  }
  if (schema.type === 'array') {
    const many = (count: number) => Array.from({ length: count }, () => randomUUID())
    const twice = [vendor.tenantId, vendor.tenantId.toUpperCase()]
    return {
      taken: [vendor.tenantId, many(50).join(), twice.join(), many(50).join(`&${name}=`)],
      refused: [
        ...noUuids,
        many(51).join(),
        many(51).join(`&${name}=`),
        `${vendor.tenantId},`,
        `,${vendor.tenantId}`,
        `${vendor.tenantId},x`,
        `${vendor.tenantId}&${name}=x`,
      ],
    }
  }
  if (schema.maxLength !== undefined) {
    const astral = (count: number) => encodeURIComponent('\u{1F600}'.repeat(count))
    const most = Number(schema.maxLength)
    return { taken: ['%20', '%25', '\\', astral(most)], refused: ['', astral(most + 1), 'a'.repeat(10_000)] }
  }
  assert.equal(schema.format, 'uuid', `no edges for ${name}`)
  return { taken: [vendor.projectId], refused: noUuids }
}

for (const { route, name, schema } of queries) {
  test(`${nameOf(route)} accepts ${name} at its bounds and refuses everything else`, async () => {
    const { url, token } = await sampleFor(route, name)
    const { taken, refused } = edgesOf(name, schema)
    const before = await dump(query)
    const valid = taken[0] ?? 'x'
    const repeated = [
      `${name}=${valid}&${name}=${valid}`,
      `${name}=${valid}&${encodedName(name)}=${valid}`,
      `${'x&'.repeat(500)}${name}=${valid}&${name}=${valid}`,
    ]
    for (const text of [
      ...[...refused, ...noText].map(value => `${name}=${value}`),
      ...(schema.type === 'array' ? [] : repeated),
      name,
    ]) {
      const { status, body } = await ask(route.method, withQuery(url, text), { ...(token && { token }) })
      // For a list parameter, the path also has the index.
      const path = body.errors?.[0].path.replace(/\.\d+$/, '')
      assert.deepEqual([text, status, body.code, path], [text, 400, 'validation_failed', name])
    }
    assert.deepEqual(await dump(query), before)
    for (const value of taken) {
      const sample = await sampleFor(route, name)
      const { status } = await ask(route.method, withQuery(sample.url, `${name}=${value}`), {
        ...(token && { token }),
      })
      assert.equal(status, 200, `${name}=${value}`)
    }
  })
}

/** A request on which the parameter has a meaning. */
async function sampleFor(route: Route, name: string) {
  const sample = await sampleOf(route, harness, vendor)
  return name === 'before_seq' ? { ...sample, url: withQuery(sample.url, 'order=desc') } : sample
}

const encodedName = (name: string) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`

/** Its own test says what it refuses. */
const strict = 'GET /v1/keys/:id/explain'

test('an unknown parameter is ignored, whatever its name and value', async () => {
  for (const route of routes.filter(one => one.method === 'GET' && nameOf(one) !== strict)) {
    const { url, token } = await sampleOf(route, harness, vendor)
    const plain = await ask('GET', url, { ...(token && { token }) })
    for (const text of [
      'x=1',
      '__proto__=1',
      'constructor=1',
      'toString',
      'limit%00=0',
      'limit[]=0',
      '%zz=%zz',
      'x=%00',
      '&&',
      '=',
      '?',
      ';limit=0',
      'LIMIT=0',
    ]) {
      const { status, body } = await ask('GET', withQuery(url, text), { ...(token && { token }) })
      assert.deepEqual([status, body], [plain.status, plain.body], `${nameOf(route)} ${text}`)
    }
  }
})

test('the smallest limit returns the smallest page', async () => {
  for (const route of lists()) {
    await fill(route)
    const { body } = await ask('GET', `${urlOf(route)}?limit=1`, { token: await readerOf(route, vendor) })
    assert.deepEqual([body.data.length, body.has_more], [1, true], nameOf(route))
  }
})

test('a cursor works only unchanged, on its own list and in its own workspace', async () => {
  const cursors = new Map<string, string>()
  for (const route of lists()) {
    await fill(route)
    const { body } = await ask('GET', `${urlOf(route)}?limit=1`, { token: await readerOf(route, vendor) })
    cursors.set(route.path, body.next_cursor)
  }
  const before = await dump(query)
  for (const route of lists()) {
    const own = cursors.get(route.path) ?? ''
    const token = await readerOf(route, vendor)
    assert.equal((await ask('GET', `${urlOf(route)}?cursor=${own}`, { token })).status, 200)
    const others = [...cursors].filter(([path]) => path !== route.path).map(([, cursor]) => cursor)
    const changed = [...own].map(
      (char, at) => own.slice(0, at) + (char === 'A' ? 'B' : 'A') + own.slice(at + 1),
    )
    const forged = Buffer.concat([Buffer.alloc(16), Buffer.from(vendor.projectId)]).toString('base64url')
    for (const cursor of [
      ...others,
      ...changed,
      forged,
      own.slice(1),
      own.slice(0, -1),
      `${own}A`,
      `${own}=`,
      `${own}%20`,
      own.toUpperCase(),
    ]) {
      await assertNoCursor(route, cursor, token)
    }
    await assertNoCursor(route, own, await readerOf(route, other))
  }
  assert.deepEqual(await dump(query), before)
})

async function assertNoCursor(route: Route, cursor: string, token: string): Promise<void> {
  const { path } = route
  const { status, body } = await ask('GET', `${urlOf(route)}?cursor=${cursor}`, { token })
  assert.deepEqual(
    [path, cursor, status, body.errors],
    [path, cursor, 400, [{ path: 'cursor', message: 'is not a cursor of this list' }]],
  )
}

/** The credential that reads the list: the vendor's, or its tenant's in a browser. */
const readerOf = async ({ plane }: Route, vendor: Vendor) =>
  plane === 'embed' ? await mintToken(harness, vendor) : vendor.live

/** Lists below an id are those of the vendor's project. */
const urlOf = ({ path }: Route) => path.replace(':id', vendor.projectId)

const lists = () => queries.filter(({ name }) => name === 'limit').map(({ route }) => route)

/** Adds two rows to the list. */
async function fill({ path }: Route): Promise<void> {
  const bodies: Record<string, () => object> = {
    '/v1/projects': () => ({ name: 'n', slug: uniqueSlug() }),
    '/v1/tenants': () => ({ external_id: uniqueSlug() }),
    '/v1/secret_keys': () => ({ env: 'live' }),
  }
  for (let i = 0; i < 2; i++) {
    const body = bodies[path]
    if (path.endsWith('/nodes')) await poll(`n${i}`)
    else if (body === undefined) await issueKey(harness, vendor)
    else await ask('POST', path, { token: vendor.live, body: body() })
  }
}

/** Asks as a node, which is then recorded. */
const poll = (node: string) =>
  ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=1&node=${node}`, { token: vendor.live })

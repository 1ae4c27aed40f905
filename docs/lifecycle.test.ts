import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bootstrapToken, type Heard, startHarness } from '../packages/server/test/harness.ts'
import { makeInvite } from '../packages/server/test/mutations.ts'
import { makePerson } from '../packages/server/test/people.ts'
import { issueKey, makeVendor, uniqueSlug } from '../packages/server/test/vendor.ts'
import { readDocument, section, tableOf } from './documents.ts'

const harness = await startHarness({ maxActiveKeysPerTenant: 3 })
const { ask, query } = harness
const page = readDocument('docs/lifecycle.md')

interface Stage {
  workspaceId: string
  token: string
  projectId: string
  tenantId: string
  keyId: string
  secretKeyId: string
}

/** A workspace with one key of each environment in one project, and a secret key to spare. */
async function setStage(): Promise<Stage> {
  const vendor = await makeVendor(harness)
  const key = await issueKey(harness, vendor)
  await issueKey(harness, vendor, { env: 'test' })
  const { workspaceId, live: token, projectId, tenantId, testId } = vendor
  return { workspaceId, token, projectId, tenantId, keyId: key.id, secretKeyId: testId }
}

type Call = (
  stage: Stage,
  ask: (method: string, path: string, body?: object) => Promise<Heard>,
) => Promise<Heard>

const limits = [{ id: 'burst', limit: 5, window_ms: 1_000, algorithm: 'fixed', scope: 'key' }]
const twice =
  (call: Call): Call =>
  async (stage, ask) => {
    await call(stage, ask)
    return marked(stage, () => call(stage, ask))
  }
const revokeKey: Call = ({ keyId }, ask) => ask('POST', `/v1/keys/${keyId}/revoke`)
const revokeSecretKey: Call = ({ secretKeyId }, ask) => ask('POST', `/v1/secret_keys/${secretKeyId}/revoke`)

const invite = ({ token, ...stage }: Stage) => makeInvite({ ask, scene: { ...stage, live: token } })
const memberOf = async ({ workspaceId }: Stage) =>
  `/v1/members/${(await makePerson(query, { workspaceId, role: 'admin' })).userId}`

/** How each row of the page's table is carried out. */
const calls: Record<string, Call> = {
  '`PATCH /v1/workspace`': (_, ask) => ask('PATCH', '/v1/workspace', { name: 'Other' }),
  '`POST /v1/invites`': (_, ask) => ask('POST', '/v1/invites', { email: 'ada@example.com', role: 'admin' }),
  'the same address again, while it is pending': twice((_, ask) =>
    ask('POST', '/v1/invites', { email: 'ada@example.com', role: 'admin' }),
  ),
  '`POST /v1/invites/:id/revoke`': async (stage, ask) => {
    const { id } = await invite(stage)
    return marked(stage, () => ask('POST', `/v1/invites/${id}/revoke`))
  },
  'the same again, of an invitation': async (stage, ask) => {
    const { id } = await invite(stage)
    return twice((_, ask) => ask('POST', `/v1/invites/${id}/revoke`))(stage, ask)
  },
  '`POST /v1/auth/invites/accept`': async stage => {
    const { token } = await makePerson(query)
    const body = { token: (await invite(stage)).token }
    return marked(stage, () => ask('POST', '/v1/auth/invites/accept', { token, body }))
  },
  '`PATCH /v1/members/:userId`': async (stage, ask) => ask('PATCH', await memberOf(stage), { role: 'owner' }),
  '`PATCH /v1/members/:userId`: the same role': async (stage, ask) =>
    ask('PATCH', await memberOf(stage), { role: 'admin' }),
  '`DELETE /v1/members/:userId`': async (stage, ask) => ask('DELETE', await memberOf(stage)),
  '`POST /v1/secret_keys`': (_, ask) => ask('POST', '/v1/secret_keys', { env: 'live' }),
  '`POST /v1/secret_keys/:id/rotate`': ({ secretKeyId }, ask) =>
    ask('POST', `/v1/secret_keys/${secretKeyId}/rotate`),
  '`POST /v1/secret_keys/:id/revoke`': revokeSecretKey,
  'the same again': twice(revokeSecretKey),
  '`PATCH /v1/projects/:id`: `name`, `slug`': ({ projectId }, ask) =>
    ask('PATCH', `/v1/projects/${projectId}`, { name: 'Other', slug: uniqueSlug() }),
  '`PATCH /v1/projects/:id`: `default_rate_limits`': ({ projectId }, ask) =>
    ask('PATCH', `/v1/projects/${projectId}`, { default_rate_limits: limits }),
  '`DELETE /v1/projects/:id`': ({ projectId }, ask) => ask('DELETE', `/v1/projects/${projectId}`),
  '`POST /v1/tenants`': (_, ask) => ask('POST', '/v1/tenants', { external_id: uniqueSlug() }),
  '`PATCH /v1/tenants/:id`': ({ tenantId }, ask) =>
    ask('PATCH', `/v1/tenants/${tenantId}`, { name: 'Other' }),
  '`POST /v1/tenants/:id/embed_tokens/revoke`': ({ tenantId }, ask) =>
    ask('POST', `/v1/tenants/${tenantId}/embed_tokens/revoke`),
  '`DELETE /v1/tenants/:id`': ({ tenantId }, ask) => ask('DELETE', `/v1/tenants/${tenantId}`),
  '`POST /v1/keys`': ({ projectId, tenantId }, ask) =>
    ask('POST', '/v1/keys', { project_id: projectId, tenant_id: tenantId, env: 'live' }),
  '`PATCH /v1/keys/:id`: `name`, `meta`': ({ keyId }, ask) =>
    ask('PATCH', `/v1/keys/${keyId}`, { name: 'other', meta: { a: 1 } }),
  '`PATCH /v1/keys/:id`: `scopes`, `rate_limits`, `expires_at`': ({ keyId }, ask) =>
    ask('PATCH', `/v1/keys/${keyId}`, {
      scopes: ['a'],
      rate_limits: limits,
      expires_at: '2999-01-01T00:00:00Z',
    }),
  '`PATCH` with the values that are there': ({ keyId }, ask) =>
    ask('PATCH', `/v1/keys/${keyId}`, {
      name: null,
      scopes: [],
      meta: {},
      rate_limits: null,
      expires_at: null,
    }),
  '`POST /v1/keys/:id/rotate`': ({ keyId }, ask) => ask('POST', `/v1/keys/${keyId}/rotate`),
  '`POST /v1/keys/:id/revoke`': revokeKey,
  'the same again, of a key': twice(revokeKey),
}

/** Rows whose workspace or project is not there before; they are looked at apart. */
const births = ['`POST /v1/workspaces`', '`POST /v1/workspaces`, of a person', '`POST /v1/projects`']

interface State {
  seq: number
  version: number
  floor: number
}

async function stateOf({ projectId }: Stage): Promise<State> {
  const [row] = await query(
    `select p.version, p.floor, a.seq from policy_heads p join audit_heads a using (workspace_id) where project_id = $1`,
    [projectId],
  )
  return row
}

const before = new Map<Stage, State>()
async function marked(stage: Stage, call: () => Promise<Heard>): Promise<Heard> {
  before.set(stage, await stateOf(stage))
  return await call()
}

interface AuditRow {
  action: string
  target_type: string
  payload: Record<string, unknown>
}

const rowsSince = async ({ projectId }: Stage, seq: number): Promise<AuditRow[]> =>
  await query(
    `select action, target_type, payload::json from audit_logs l join policy_heads p using (workspace_id)
     where project_id = $1 and l.seq > $2 order by l.seq`,
    [projectId, seq],
  )

/** What the page on verification says of payloads, by action. */
const payloads = new Map(
  tableOf(section(readDocument('docs/audit-verification.md'), 'Actions')).map(
    ([action = '', payload = '']) => [action.replaceAll('`', ''), payload],
  ),
)

function assertPayload({ action, target_type, payload }: AuditRow): void {
  const told = payloads.get(action) ?? ''
  // In place of an address its hash stands in the row.
  const names = Object.keys(payload)
    .map(name => name.replace(/_hash$/, ''))
    .sort()
  if (told === 'resource') {
    assert.equal(payload.object, target_type.replace('workspace_invite', 'invitation'))
    assert.ok(!names.includes('key') && names.includes('created_at'))
  } else if (told === 'changes') {
    for (const change of Object.values(payload))
      assert.deepEqual(Object.keys(change as object).sort(), ['new', 'old'])
    assert.ok(!names.includes('updated_at') && !names.includes('policy_version'))
  } else {
    // What stands in brackets may be left out.
    const always = [...told.replace(/\(`\w+`\)/g, '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    for (const name of always) assert.ok(names.includes(name), `${action}: ${name}`)
    for (const name of names) assert.ok(told.includes(`\`${name}\``), `${action}: ${name}`)
  }
}

/** What the page says of audit rows, for a project and a tenant with two keys. */
function actionsOf(cell: string): string[] {
  const names = [...cell.matchAll(/`([a-z_.]+)`/g)].map(([, name = '']) => name)
  return cell.endsWith('for each key') ? [...names, ...names.slice(-1)] : names
}

const rows = tableOf(section(page, 'What each call leaves behind'))

test('every row of the table is carried out here, and nothing else', () => {
  assert.deepEqual(rows.map(([call]) => call).sort(), [...births, ...Object.keys(calls)].sort())
})

for (const [name = '', audit = '', version = '', floor = ''] of rows.filter(
  ([name = '']) => !births.includes(name),
)) {
  test(`${name} leaves behind what the page says`, async () => {
    const stage = await setStage()
    const asked = (method: string, path: string, body?: object) =>
      ask(method, path, { token: stage.token, ...(body && { body }) })
    const { status } = await marked(stage, async () => (await calls[name]?.(stage, asked)) as Heard)
    assert.ok(status < 300, `${status}`)
    const old = before.get(stage) as State
    const now = await stateOf(stage)
    const written = await rowsSince(stage, old.seq)
    assert.deepEqual(
      written.map(row => row.action),
      actionsOf(audit),
    )
    for (const row of written) assertPayload(row)
    assert.equal(now.version - old.version, Number.parseInt(version, 10))
    assert.equal(now.floor, floor === 'rises' ? now.version : old.floor)
  })
}

for (const [i, who] of ['the bootstrap token', 'a person'].entries()) {
  test(`a new workspace of ${who} and a new project begin as the table says`, async () => {
    const maker = i === 0 ? bootstrapToken : (await makePerson(query)).token
    const body = { name: 'n', slug: uniqueSlug() }
    const created = await ask('POST', '/v1/workspaces', { token: maker, body })
    const token = created.body.secret_key.key
    const project = await ask('POST', '/v1/projects', { token, body: { name: 'n', slug: uniqueSlug() } })
    const stage = { projectId: project.body.id } as Stage
    const row = rows.find(([name]) => name === births[i])
    const actions = [...actionsOf(row?.[1] ?? ''), 'project.created']
    const written = await rowsSince(stage, 0)
    assert.deepEqual(
      written.map(row => row.action),
      actions,
    )
    for (const row of written) assertPayload(row)
    assert.deepEqual(await stateOf(stage), { version: 1, floor: 1, seq: actions.length })
  })
}

test('every successor of a key takes the expiry it had before any overlap, and rotated_to names the newest', async () => {
  const { token, keyId } = await setStage()
  for (const path of [`/v1/keys/${keyId}`, `/v1/secret_keys/${await secondSecretKey(token)}`]) {
    const original = (await ask('GET', path, { token })).body.expires_at
    for (const overlap_hours of [2, 0]) {
      const { body } = await ask('POST', `${path}/rotate`, { token, body: { overlap_hours } })
      assert.equal(body.expires_at, original)
      assert.notEqual(body.predecessor.expires_at, original)
      assert.equal((await ask('GET', path, { token })).body.rotated_to, body.id)
    }
  }
})

async function secondSecretKey(token: string): Promise<string> {
  const body = { env: 'live', expires_at: '2999-01-01T00:00:00Z' }
  return (await ask('POST', '/v1/secret_keys', { token, body })).body.id
}

test('the cap is looked at when a key is made, and not when an expired one is renewed', async () => {
  const stage = await setStage()
  const { token, projectId: project_id, tenantId: tenant_id } = stage
  const create = (more: object = {}) =>
    ask('POST', '/v1/keys', { token, body: { project_id, tenant_id, env: 'test', ...more } })
  const expired = await create({ expires_at: '2020-01-01T00:00:00Z' })
  assert.equal((await create()).status, 201)
  assert.equal((await create()).body.code, 'key_limit_reached')
  const renewed = await ask('PATCH', `/v1/keys/${expired.body.id}`, { token, body: { expires_at: null } })
  assert.equal(renewed.status, 200)
})

test('an Idempotency-Key brings the first answer again without its secret, for the same credential and request alone', async () => {
  const { token, projectId, tenantId } = await setStage()
  const other = await ask('POST', '/v1/secret_keys', { token, body: { env: 'live' } })
  const create = (name: string, by = token) =>
    ask('POST', '/v1/keys', {
      token: by,
      headers: { 'idempotency-key': 'order-17' },
      body: { project_id: projectId, tenant_id: tenantId, env: 'live', name },
    })
  const refused = await create('x'.repeat(201))
  assert.equal(refused.status, 400)
  const { key, ...first } = (await create('a')).body
  assert.ok(key)
  const again = await create('a')
  assert.deepEqual([again.status, again.headers['idempotent-replayed'], again.body], [201, 'true', first])
  assert.equal((await create('b')).body.code, 'idempotency_key_reused')
  assert.equal((await create('a', other.body.key)).body.code, 'key_limit_reached')
})

test('a request is refused in the order of the page', async () => {
  const stage = await setStage()
  const member = await ask('POST', '/v1/secret_keys', { token: stage.token, body: { env: 'test' } })
  const token = member.body.key
  const missing = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
  const json = { 'content-type': 'application/json' }
  const codes: string[] = []
  const hear = async (method: string, path: string, more: object) =>
    codes.push((await ask(method, path, more)).body.code)
  await hear('POST', '/v1/nothing', { body: '{' })
  await hear('PUT', '/v1/keys', { body: '{' })
  await hear('POST', '/v1/workspaces', { token: 'nobody', body: '{' })
  await hear('POST', '/v1/workspaces', { token, body: '{' })
  await hear('POST', '/v1/projects', { token, body: '{' })
  await hear('POST', '/v1/keys', { token, body: '{', headers: { 'content-type': 'text/plain' } })
  await hear('POST', '/v1/keys', { token, body: '{', headers: json })
  await hear('POST', '/v1/keys', { token, body: { env: 'live' } })
  await hear('POST', '/v1/keys', { token, body: { env: 'live', project_id: missing, tenant_id: missing } })
  await hear('POST', `/v1/keys/${missing}/revoke?wait=perhaps`, { token, body: { reason: '' } })
  await hear('POST', '/v1/keys', { token, body: { env: 'test', project_id: missing, tenant_id: missing } })
  await ask('POST', `/v1/keys/${stage.keyId}/revoke`, { token: stage.token })
  await hear('POST', `/v1/keys/${stage.keyId}/rotate`, { token: stage.token })
  assert.deepEqual(codes, [
    'route_not_found',
    'method_not_allowed',
    'unauthenticated',
    'credential_not_accepted',
    'live_credential_required',
    'unsupported_media_type',
    'malformed_json',
    'validation_failed',
    'env_mismatch',
    'validation_failed',
    'not_found',
    'key_not_active',
  ])
})

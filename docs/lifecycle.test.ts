import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bootstrapToken, type Heard } from '../packages/server/test/harness.ts'
import { makePerson } from '../packages/server/test/people.ts'
import { makeInvite, uniqueSlug } from '../packages/server/test/vendor.ts'
import { readDocument, section, tableOf } from './documents.ts'
import { importKey, importMet } from './lifecycle-imports.ts'
import { openHouse, type Stage, setStage } from './lifecycle-stage.ts'

const harness = await openHouse()
const { ask, query } = harness
const page = readDocument('docs/lifecycle.md')

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
const pauseKey: Call = ({ keyId }, ask) => ask('POST', `/v1/keys/${keyId}/disable`)
const resumeKey: Call = ({ keyId }, ask) => ask('POST', `/v1/keys/${keyId}/enable`)
const suspendTenant: Call = ({ tenantId }, ask) => ask('POST', `/v1/tenants/${tenantId}/suspend`)
const resumeTenant: Call = ({ tenantId }, ask) => ask('POST', `/v1/tenants/${tenantId}/resume`)
const revokeSecretKey: Call = ({ secretKeyId }, ask) => ask('POST', `/v1/secret_keys/${secretKeyId}/revoke`)

const invite = ({ token }: Stage) => makeInvite({ ask }, { live: token })
/** A secret key that has made another, and an invitation. */
async function makerOf(ask: Parameters<Call>[1]): Promise<{ id: string }> {
  const { body } = await ask('POST', '/v1/secret_keys', { env: 'live' })
  await harness.ask('POST', '/v1/secret_keys', { token: body.key, body: { env: 'live' } })
  const invitation = { email: `${uniqueSlug()}@example.com`, role: 'member' }
  await harness.ask('POST', '/v1/invites', { token: body.key, body: invitation })
  return body
}
const meetTenant: Call = ({ projectId }, ask) =>
  ask('POST', '/v1/embed_tokens', {
    project_id: projectId,
    external_id: 'met',
    env: 'live',
    create_tenant: {},
  })
const memberOf = async ({ workspaceId }: Stage) =>
  `/v1/members/${(await makePerson(query, { workspaceId, role: 'admin' })).userId}`

/** How the test carries out each row of the table. */
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
  '`DELETE /v1/members/:userId?revoke_keys=true`': async (stage, ask) => {
    const { token, userId } = await makePerson(query, { workspaceId: stage.workspaceId, role: 'owner' })
    await makePerson(query, { workspaceId: stage.workspaceId, role: 'owner' })
    const body = { email: `${uniqueSlug()}@example.com`, role: 'member' }
    await harness.ask('POST', '/v1/secret_keys', { token, body: { env: 'live' } })
    await harness.ask('POST', '/v1/invites', { token, body })
    return marked(stage, () => ask('DELETE', `/v1/members/${userId}?revoke_keys=true`))
  },
  '`POST /v1/auth/workspaces/:id/leave`': async stage => {
    const { token } = await makePerson(query, { workspaceId: stage.workspaceId })
    return marked(stage, () =>
      harness.ask('POST', `/v1/auth/workspaces/${stage.workspaceId}/leave`, { token }),
    )
  },
  '`POST /v1/secret_keys`': (_, ask) => ask('POST', '/v1/secret_keys', { env: 'live' }),
  '`PATCH /v1/secret_keys/:id`': ({ secretKeyId }, ask) =>
    ask('PATCH', `/v1/secret_keys/${secretKeyId}`, { name: 'other' }),
  '`POST /v1/secret_keys/:id/rotate`': ({ secretKeyId }, ask) =>
    ask('POST', `/v1/secret_keys/${secretKeyId}/rotate`),
  '`POST /v1/secret_keys/:id/revoke`': revokeSecretKey,
  'the same again': twice(revokeSecretKey),
  '`POST /v1/secret_keys/:id/revoke`: `cascade`': async (stage, ask) => {
    const { id } = await makerOf(ask)
    return marked(stage, () => ask('POST', `/v1/secret_keys/${id}/revoke`, { cascade: true }))
  },
  '`DELETE /v1/secret_keys/ended`': async (stage, ask) => {
    await harness.ask('POST', '/v1/secret_keys', {
      token: stage.token,
      body: { env: 'live', expires_at: '2020-01-01T00:00:00Z' },
    })
    return marked(stage, () => ask('DELETE', '/v1/secret_keys/ended'))
  },
  '`PATCH /v1/projects/:id`: `name`, `slug`': ({ projectId }, ask) =>
    ask('PATCH', `/v1/projects/${projectId}`, { name: 'Other', slug: uniqueSlug() }),
  '`PATCH /v1/projects/:id`: `known_scopes`': ({ projectId }, ask) =>
    ask('PATCH', `/v1/projects/${projectId}`, { known_scopes: ['refunds'], strict_scopes: true }),
  '`PATCH /v1/projects/:id`: `max_key_lifetime_days`': ({ projectId }, ask) =>
    ask('PATCH', `/v1/projects/${projectId}`, { max_key_lifetime_days: 90 }),
  'the same, with `lifetime: refuse`': ({ projectId }, ask) =>
    ask('PATCH', `/v1/projects/${projectId}`, { max_key_lifetime_days: 90, lifetime: 'refuse' }),
  '`PATCH /v1/projects/:id`: `default_rate_limits`': ({ projectId }, ask) =>
    ask('PATCH', `/v1/projects/${projectId}`, { default_rate_limits: limits }),
  '`DELETE /v1/projects/:id`': ({ projectId }, ask) => ask('DELETE', `/v1/projects/${projectId}`),
  '`POST /v1/tenants`': (_, ask) => ask('POST', '/v1/tenants', { external_id: uniqueSlug() }),
  '`PATCH /v1/tenants/:id`': ({ tenantId }, ask) =>
    ask('PATCH', `/v1/tenants/${tenantId}`, { name: 'Other' }),
  '`PATCH /v1/tenants/:id`: `delete_protection`': ({ tenantId }, ask) =>
    ask('PATCH', `/v1/tenants/${tenantId}`, { delete_protection: true }),
  '`PATCH /v1/tenants/:id`: `allowed_cidrs`': ({ tenantId }, ask) =>
    ask('PATCH', `/v1/tenants/${tenantId}`, { allowed_cidrs: ['203.0.113.0/24'] }),
  '`POST /v1/embed_tokens`: a new `create_tenant`': meetTenant,
  'the same again, of a tenant': twice(meetTenant),
  '`POST /v1/tenants/:id/suspend`': suspendTenant,
  'the same again, of a suspended tenant': twice(suspendTenant),
  '`POST /v1/tenants/:id/resume`': async (stage, ask) => {
    await suspendTenant(stage, ask)
    return marked(stage, () => resumeTenant(stage, ask))
  },
  'the same again, of a tenant that is not suspended': resumeTenant,
  '`POST /v1/tenants/:id/embed_tokens/revoke`': ({ tenantId }, ask) =>
    ask('POST', `/v1/tenants/${tenantId}/embed_tokens/revoke`),
  '`DELETE /v1/tenants/:id`': ({ tenantId }, ask) => ask('DELETE', `/v1/tenants/${tenantId}`),
  '`POST /v1/keys`': ({ projectId, tenantId }, ask) =>
    ask('POST', '/v1/keys', { project_id: projectId, tenant_id: tenantId, env: 'live' }),
  '`PATCH /v1/keys/:id`': ({ keyId }, ask) => ask('PATCH', `/v1/keys/${keyId}`, { name: 'other' }),
  '`PATCH /v1/keys/:id`: `allowed_cidrs`': ({ keyId }, ask) =>
    ask('PATCH', `/v1/keys/${keyId}`, { allowed_cidrs: ['203.0.113.0/24'] }),
  '`PATCH` with the values that are there': ({ keyId }, ask) =>
    ask('PATCH', `/v1/keys/${keyId}`, {
      name: null,
      scopes: [],
      meta: {},
      rate_limits: null,
      allowed_cidrs: null,
      expires_at: null,
    }),
  '`POST /v1/keys/:id/rotate`': ({ keyId }, ask) => ask('POST', `/v1/keys/${keyId}/rotate`),
  '`POST /v1/keys/:id/revoke`': revokeKey,
  'the same again, of a key': twice(revokeKey),
  '`POST /v1/keys/:id/disable`': pauseKey,
  'the same again, of a paused key': twice(pauseKey),
  '`POST /v1/keys/:id/enable`': async (stage, ask) => {
    await pauseKey(stage, ask)
    return marked(stage, () => resumeKey(stage, ask))
  },
  'the same again, of a key that is not paused': resumeKey,
  '`POST /v1/keys/revoke`': ({ keyId }, ask) => ask('POST', '/v1/keys/revoke', { ids: [keyId] }),
  '`POST /v1/keys/disable`': ({ keyId }, ask) => ask('POST', '/v1/keys/disable', { ids: [keyId] }),
  '`POST /v1/keys/enable`': async (stage, ask) => {
    await pauseKey(stage, ask)
    return marked(stage, () => ask('POST', '/v1/keys/enable', { ids: [stage.keyId] }))
  },
  'the same again, of keys that are not paused': ({ keyId }, ask) =>
    ask('POST', '/v1/keys/enable', { ids: [keyId] }),
  '`DELETE /v1/keys/ended`': async (stage, ask) => {
    await revokeKey(stage, ask)
    return marked(stage, () => ask('DELETE', '/v1/keys/ended'))
  },
  '`POST /v1/keys/import`: the first of a project': (stage, ask) => importKey(stage, ask, 'one'),
  '`POST /v1/keys/import`: a later one': async (stage, ask) => {
    await importKey(stage, ask, 'one', 'test')
    return marked(stage, () => importKey(stage, ask, 'two'))
  },
  'the same again, of imported keys': twice((stage, ask) => importKey(stage, ask, 'one')),
  '`POST /v1/keys/import`: `create_tenants`': importMet,
  '`GET /v1/keys/export`': (_, ask) => ask('GET', '/v1/keys/export'),
}

/** Rows that create their workspace or project; they have a separate test. */
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

/** What docs/audit-verification.md says about payloads, by action. */
const payloads = new Map(
  tableOf(section(readDocument('docs/audit-verification.md'), 'Actions')).map(
    ([action = '', payload = '']) => [action.replaceAll('`', ''), payload],
  ),
)

function assertPayload({ action, target_type, payload }: AuditRow): void {
  const expected = payloads.get(action) ?? ''
  // A row has the hash of an address instead of the address.
  const names = Object.keys(payload)
    .map(name => name.replace(/_hash$/, ''))
    .sort()
  if (expected === 'resource') {
    assert.equal(payload.object, target_type.replace('workspace_invite', 'invitation'))
    assert.ok(!names.includes('key') && names.includes('created_at'))
  } else if (expected === 'changes') {
    for (const change of Object.values(payload))
      assert.deepEqual(Object.keys(change as object).sort(), ['new', 'old'])
    assert.ok(!names.includes('updated_at') && !names.includes('policy_version'))
  } else {
    // Names in brackets are optional.
    const always = [...expected.replace(/\(`\w+`\)/g, '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    for (const name of always) assert.ok(names.includes(name), `${action}: ${name}`)
    for (const name of names) assert.ok(expected.includes(`\`${name}\``), `${action}: ${name}`)
  }
}

/** The audit rows that the page lists, for a project and a tenant with two keys. */
function actionsOf(cell: string): string[] {
  const names = [...cell.matchAll(/`([a-z_.]+)`/g)].map(([, name = '']) => name)
  return cell.endsWith('for each key') ? [...names, ...names.slice(-1)] : names
}

const rows = tableOf(section(page, 'What each call leaves behind'))

test('the test carries out every row of the table, and nothing else', () => {
  assert.deepEqual(rows.map(([call]) => call).sort(), [...births, ...Object.keys(calls)].sort())
})

for (const [name = '', audit = '', version = '', floor = ''] of rows.filter(
  ([name = '']) => !births.includes(name),
)) {
  test(`${name} writes what the page says`, async () => {
    const stage = await setStage(harness)
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

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { ask, Installation, root, type Serving } from '../../../test/installation.ts'

const installation = new Installation()
let service: Serving
let secretKey = ''
let made: { id: string; key: string }
let projectId = ''
before(async () => {
  service = await installation.serve({ SERVICE_REVOKE_WAIT_MS: '200' })
  const post = async (path: string, token: string, body: object) =>
    (await ask(`${service.url}${path}`, { token, body }))?.body
  const workspace = await post('/v1/workspaces', installation.token, { name: 'Acme', slug: 'acme' })
  secretKey = workspace.secret_key.key
  const project = await post('/v1/projects', secretKey, { name: 'Payments', slug: 'payments' })
  projectId = project.id
  const tenant = await post('/v1/tenants', secretKey, { external_id: 'org_17' })
  const body = { project_id: project.id, tenant_id: tenant.id, env: 'live', scopes: ['read'] }
  made = await post('/v1/keys', secretKey, body)
})
after(() => installation.remove())

const explain = (...args: string[]) =>
  installation.start(['keys', 'explain', ...args], {
    KEYRAIL_URL: service.url,
    KEYRAIL_SECRET_KEY: secretKey,
  }).ended

/** With a key on standard input. */
async function explainGiven(given: string, ...args: string[]) {
  const child = spawn(process.execPath, ['bin/keyrail.mjs', 'keys', 'explain', '-', ...args], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, KEYRAIL_URL: service.url, KEYRAIL_SECRET_KEY: secretKey },
  })
  child.stdin.end(given)
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { out, err }
}

test('a key is explained by its id, with each reason', async () => {
  const valid = await explain(made.id)
  assert.equal(valid.code, 0, valid.err)
  assert.match(valid.out, /^accepted at \d{4}-/)
  assert.match(valid.out, /of org_17 in Payments/)
  assert.match(valid.out, /0 of 0 live nodes hold its last change/)
  const refused = await explain(made.id, '--scope', 'read', 'write')
  assert.match(refused.out, /^refused: insufficient_scope at /)
  assert.match(refused.out, /yes {2}insufficient_scope +The key lacks "write"/)
  const before = await explain(made.id, '--at', '2020-01-01T00:00:00Z', '--json')
  assert.deepEqual(JSON.parse(before.out).code, 'unknown_key')
})

test('a key that is bound to networks is explained for an address', async () => {
  const patch = (allowed_cidrs: string[] | null) =>
    ask(`${service.url}/v1/keys/${made.id}`, { method: 'PATCH', token: secretKey, body: { allowed_cidrs } })
  await patch(['203.0.113.0/24'])
  assert.match((await explain(made.id)).out, /^refused: ip_unknown at /)
  assert.match((await explain(made.id, '--ip', '198.51.100.7')).out, /^refused: ip_not_allowed at /)
  assert.match((await explain(made.id, '--ip', '203.0.113.7')).out, /^accepted at /)
  await patch(null)
})

test('a key is explained by itself from standard input, and shown nowhere', async () => {
  const { out, err } = await explainGiven(`${made.key}\n`)
  assert.match(out, /^accepted at /)
  assert.ok(!(out + err).includes(made.key))
  assert.match((await explainGiven(made.key.slice(0, -1))).out, /^refused: malformed_key at /)
})

test('what is missing or wrong is said, and ends with 1', async () => {
  for (const [args, env, fault] of [
    [[made.id], { KEYRAIL_URL: '' }, /^Error: Set KEYRAIL_URL for these commands/m],
    [[made.id], { KEYRAIL_SECRET_KEY: '' }, /^Error: Set KEYRAIL_SECRET_KEY/m],
    [[made.id], { KEYRAIL_SECRET_KEY: 'krsk_live_x' }, /^Error: .*secretKey/m],
    [[made.key], {}, /^Error: Name the id of a key, or -/m],
    [[made.id, '--at', 'yesterday'], {}, /^Error: .*at/m],
    [['01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'], {}, /^Error: .*404 not_found/m],
  ] as const) {
    const given = { KEYRAIL_URL: service.url, KEYRAIL_SECRET_KEY: secretKey, ...env }
    const { code, out, err } = await installation.start(['keys', 'explain', ...args], given).ended
    assert.deepEqual([code, out], [1, ''], err)
    assert.match(err, fault)
    assert.ok(!err.includes(made.key) && !err.includes(secretKey))
  }
})

const settle = (...args: string[]) =>
  installation.start(['keys', ...args], { KEYRAIL_URL: service.url, KEYRAIL_SECRET_KEY: secretKey }).ended

test('a key is paused, resumed and revoked by its id, and a repeat changes nothing', async () => {
  const paused = await settle('disable', made.id, '--reason', 'unpaid', '--wait')
  assert.equal(paused.code, 0, paused.err)
  assert.match(paused.out, /^paused kr_live_\S+…, live, /)
  assert.match(paused.out, /^0 of 0 live nodes have the change\.$/m)
  assert.match((await explain(made.id)).out, /^refused: disabled_key at /)
  assert.match((await settle('enable', made.id)).out, /^resumed /)
  assert.match((await explain(made.id)).out, /^accepted at /)
  const revoked = await settle('revoke', made.id, '--json')
  const at = JSON.parse(revoked.out).revokedAt
  assert.match(at, /^\d{4}-/)
  assert.equal(JSON.parse((await settle('revoke', made.id, '--reason', 'again', '--json')).out).revokedAt, at)
  const late = await settle('enable', made.id)
  assert.deepEqual([late.code, late.out], [1, ''])
  assert.match(late.err, /409 key_not_active/)
  assert.match((await settle('revoke', 'all')).err, /^Error: Name the id of a key\./m)
  assert.match((await settle('enable', made.id, '--reason', 'x')).err, /unknown option/)
})

test('a wait fails while a live node has not said that it has the change, and names the node', async () => {
  const feed = async (path: string) =>
    (await ask(`${service.url}/v1/policy/${path}project_id=${projectId}&node=api-1`, { token: secretKey }))
      ?.body
  const { version } = await feed('snapshot?')
  await feed(`delta?since=${version}&`)
  const body = { project_id: projectId, external_id: 'org_17', env: 'live' }
  const other = (await ask(`${service.url}/v1/keys`, { token: secretKey, body }))?.body
  const { code, out, err } = await settle('disable', other.id, '--wait')
  assert.equal(code, 1)
  assert.match(out, /^0 of 1 live nodes have the change\.\n {2}api-1 has not said so\.$/m)
  assert.match(err, /^Error: The change is made\. Not every live node/m)
})

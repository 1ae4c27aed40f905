import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, test } from 'node:test'
import { urlOf } from '../packages/server/test/installation.ts'
import { startScratchCluster } from '../packages/server/test/scratch.ts'
import { makeScene } from '../packages/server/test/vendor.ts'
import { openApi, plainly } from './harness/api.ts'
import {
  checkOut,
  findPrevious,
  migrateWith,
  ownTree,
  serveWith,
  type Tree,
} from './harness/previous-release.ts'
import { openReleasedKeyring, type Question } from './harness/released-keyring.ts'
import { bootstrapToken } from './harness/service.ts'

const previous = findPrevious()
// A copy without a history has no release before: then this release meets itself.
const old = previous === null ? ownTree : checkOut(previous.revision)
after(() => old.remove())
const ends: (() => unknown)[] = []
after(async () => {
  for (const end of ends.toReversed()) await end()
})

/** A service of one release, and a vendor of it with a keyring of another. */
async function open(service: Tree, sdk: Tree) {
  const cluster = await startScratchCluster({ settings: { max_connections: 60 } })
  ends.push(() => cluster.remove())
  await migrateWith(service, urlOf(cluster.connection))
  const served = await serveWith(service, urlOf(cluster.connection))
  ends.push(() => served.stop())
  const api = openApi(served.url)
  ends.push(() => api.close())
  const scene = await makeScene(plainly(api), bootstrapToken)
  const { live: secretKey, projectId: project, tenantId } = scene
  const keyring = await openReleasedKeyring(sdk, { url: served.url, secretKey, project })
  ends.push(() => keyring.stop())
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await api.ask(method, path, { token: secretKey, body })
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  return {
    tenantId,
    project,
    call,
    async issue(tenant = tenantId): Promise<{ id: string; key: string }> {
      return await call('POST', '/v1/keys', { project_id: project, tenant_id: tenant, env: 'live' })
    },
    async verdicts(questions: Record<string, Question>): Promise<Record<string, string>> {
      const { policy_version } = await call('GET', `/v1/projects/${project}`)
      const codes = await keyring.verdicts(policy_version, Object.values(questions))
      return Object.fromEntries(Object.keys(questions).map((name, at) => [name, codes[at] ?? '']))
    },
  }
}

type Side = Awaited<ReturnType<typeof open>>

/** A key of each kind, which the keyring has met before its state changed, and what each is asked with. */
async function makeKeys({ issue, call, project, verdicts }: Side) {
  // The first import of a project lets nodes begin anew, so it comes before.
  const digest = createHash('sha256').update('old_customer_key_1').digest('hex')
  const rows = [{ external_id: 'imported', digest }]
  await call('POST', '/v1/keys/import', { project_id: project, env: 'live', create_tenants: true, rows })
  const suspended = await call('POST', '/v1/tenants', { external_id: 'suspended' })
  const [plain, revoked, paused, bound] = [await issue(), await issue(), await issue(), await issue()]
  const issued: Record<string, Question> = {
    plain: [plain.key],
    revoked: [revoked.key],
    paused: [paused.key],
    bound: [bound.key],
    suspended: [(await issue(suspended.id)).key],
  }
  assert.deepEqual([...new Set(Object.values(await verdicts(issued)))], ['valid'])
  await call('POST', `/v1/keys/${revoked.id}/revoke`, {})
  await call('POST', `/v1/keys/${paused.id}/disable`, {})
  await call('PATCH', `/v1/keys/${bound.id}`, { allowed_cidrs: ['203.0.113.0/24'] })
  await call('POST', `/v1/tenants/${suspended.id}/suspend`, {})
  const questions: Record<string, Question> = {
    ...issued,
    imported: ['old_customer_key_1'],
  }
  return { paused, bound, suspended, questions }
}

test('the SDK before refuses each key whose state it cannot read, and accepts it afterwards', async () => {
  const side = await open(ownTree, old)
  const { paused, bound, suspended, questions } = await makeKeys(side)
  const { plain, ...others } = await side.verdicts(questions)
  assert.equal(plain, 'valid')
  if (previous !== null)
    for (const [name, code] of Object.entries(others)) assert.notEqual(code, 'valid', `${name}: ${code}`)
  await side.call('POST', `/v1/keys/${paused.id}/enable`, {})
  await side.call('PATCH', `/v1/keys/${bound.id}`, { allowed_cidrs: null })
  await side.call('POST', `/v1/tenants/${suspended.id}/resume`, {})
  const { plain: still, paused: resumed, bound: free, suspended: back } = await side.verdicts(questions)
  assert.deepEqual([still, resumed, free, back], ['valid', 'valid', 'valid', 'valid'])
})

test('the SDK of this release reads each state from its own service', async () => {
  const side = await open(ownTree, ownTree)
  const { questions } = await makeKeys(side)
  const [key] = questions.bound ?? ['']
  const bound: Record<string, Question> = {
    bound: [key, { ip: '203.0.113.9' }],
    elsewhere: [key, { ip: '198.51.100.1' }],
  }
  assert.deepEqual(await side.verdicts({ ...questions, ...bound }), {
    plain: 'valid',
    revoked: 'revoked_key',
    paused: 'disabled_key',
    bound: 'valid',
    elsewhere: 'ip_not_allowed',
    suspended: 'suspended_tenant',
    imported: 'valid',
  })
})

test('the SDK of this release serves the keys of the service before', async () => {
  const side = await open(old, ownTree)
  const [kept, revoked] = [await side.issue(), await side.issue()]
  const questions = { kept: [kept.key], revoked: [revoked.key], other: ['old_customer_key_1'] } as const
  assert.deepEqual(await side.verdicts(questions), {
    kept: 'valid',
    revoked: 'valid',
    other: 'malformed_key',
  })
  await side.call('POST', `/v1/keys/${revoked.id}/revoke`, {})
  assert.deepEqual(await side.verdicts(questions), {
    kept: 'valid',
    revoked: 'revoked_key',
    other: 'malformed_key',
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../harness.ts'
import { issueKey, makeVendor } from '../vendor.ts'
import { faultsOf } from '../whole.ts'
import { auditHeadOf, meet, openBarrier, policyHeadOf } from './barrier.ts'

const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)
const vendor = await makeVendor(harness)
const { live, projectId, workspaceId } = vendor

const actionsOf = async (id: string) =>
  (await query('select action from audit_logs where target_id = $1 order by seq', [id])).map(
    row => row.action,
  )
const headOf = async (id: string) =>
  (await query('select version, floor from policy_heads where project_id = $1', [id]))[0]
const revoke = (id: string, reason: string) => () =>
  ask('POST', `/v1/keys/${id}/revoke`, { token: live, body: { reason } })
const rotate = (id: string) => () => ask('POST', `/v1/keys/${id}/rotate`, { token: live })

for (const [place, held] of [
  ['before either locks the head', policyHeadOf(projectId)],
  ['before the first commits', auditHeadOf(workspaceId)],
] as const) {
  test(`two revocations of one key, ${place}: one audit row and one version`, async () => {
    const { id } = await issueKey(harness, vendor)
    const { version } = await headOf(projectId)
    const [first, second] = await meet(barrier, held, [revoke(id, 'one'), revoke(id, 'two')])
    assert.deepEqual([first?.status, second?.status], [200, 200])
    assert.deepEqual(second?.body, first?.body)
    assert.equal(first?.body.revoked_reason, 'one')
    assert.deepEqual(await actionsOf(id), ['api_key.created', 'api_key.revoked'])
    assert.equal((await headOf(projectId)).version, version + 1)
  })
}

test('two concurrent revocations of one secret key: one audit row, the same response', async () => {
  const created = await ask('POST', '/v1/secret_keys', { token: live, body: { env: 'test' } })
  const { id } = created.body
  const revokeIt = (reason: string) => () =>
    ask('POST', `/v1/secret_keys/${id}/revoke`, { token: live, body: { reason } })
  const held = ['select id from secret_keys where id = $1 for update', [id]] as [string, unknown[]]
  const [first, second] = await meet(barrier, held, [revokeIt('one'), revokeIt('two')])
  assert.deepEqual(second?.body, first?.body)
  assert.equal(first?.body.revoked_reason, 'one')
  assert.deepEqual(await actionsOf(id), ['secret_key.created', 'secret_key.revoked'])
})

test('a revocation that waited for a rotation ends only the predecessor', async () => {
  const { id } = await issueKey(harness, vendor)
  const [rotated, revoked] = await meet(barrier, policyHeadOf(projectId), [rotate(id), revoke(id, 'leaked')])
  assert.deepEqual([rotated?.status, revoked?.status], [200, 200])
  assert.equal(revoked?.body.rotated_to, rotated?.body.id)
  const successor = await ask('GET', `/v1/keys/${rotated?.body.id}`, { token: live })
  assert.equal(successor.body.revoked_at, null)
})

test('a rotation that waited for a revocation makes no successor', async () => {
  const { id } = await issueKey(harness, vendor)
  const [revoked, rotated] = await meet(barrier, policyHeadOf(projectId), [revoke(id, 'leaked'), rotate(id)])
  assert.deepEqual([revoked?.status, rotated?.body.code], [200, 'key_not_active'])
  const [{ n }] = await query('select count(*) as n from api_keys where rotated_from = $1', [id])
  assert.equal(n, 0)
  assert.deepEqual(await actionsOf(id), ['api_key.created', 'api_key.revoked'])
})

test('two concurrent rotations make two successors, and rotated_to is the newest', async () => {
  const { id } = await issueKey(harness, vendor)
  const [first, second] = await meet(barrier, policyHeadOf(projectId), [rotate(id), rotate(id)])
  assert.notEqual(first?.body.id, second?.body.id)
  const { body } = await ask('GET', `/v1/keys/${id}`, { token: live })
  assert.equal(body.rotated_to, second?.body.id)
  assert.ok(Date.parse(body.expires_at) <= Date.parse(first?.body.predecessor.expires_at))
})

test('concurrent patches of different fields of one key are both kept', async () => {
  const { id } = await issueKey(harness, vendor)
  const patch = (body: object) => () => ask('PATCH', `/v1/keys/${id}`, { token: live, body })
  const pair = [patch({ scopes: ['a'] }), patch({ name: 'renamed', expires_at: '2040-01-01T00:00:00Z' })]
  await meet(barrier, auditHeadOf(workspaceId), pair)
  const { body } = await ask('GET', `/v1/keys/${id}`, { token: live })
  assert.deepEqual([body.scopes, body.name, body.expires_at], [['a'], 'renamed', '2040-01-01T00:00:00.000Z'])
})

test('concurrent changes of limits and a key get separate versions and one floor', async () => {
  let limit = 1
  const patchLimits = () =>
    ask('PATCH', `/v1/projects/${projectId}`, {
      token: live,
      body: {
        default_rate_limits: [
          { id: 'all', limit: limit++, window_ms: 1000, algorithm: 'fixed', scope: 'key' },
        ],
      },
    })
  const keyChanges = {
    created: async () => () =>
      ask('POST', '/v1/keys', {
        token: live,
        body: { project_id: projectId, tenant_id: vendor.tenantId, env: 'live' },
      }),
    rotated: async () => rotate((await issueKey(harness, vendor)).id),
    revoked: async () => revoke((await issueKey(harness, vendor)).id, 'gone'),
    patched: async () => {
      const { id } = await issueKey(harness, vendor)
      return () => ask('PATCH', `/v1/keys/${id}`, { token: live, body: { scopes: ['b'] } })
    },
  }
  for (const [name, prepare] of Object.entries(keyChanges)) {
    for (const limitsFirst of [true, false]) {
      for (const held of [policyHeadOf(projectId), auditHeadOf(workspaceId)]) {
        const pair = [patchLimits, await prepare()]
        const before = await headOf(projectId)
        const answers = await meet(barrier, held, limitsFirst ? pair : pair.toReversed())
        assert.ok(answers.every(({ status }) => status < 300))
        const limitsVersion = before.version + (limitsFirst ? 1 : 2)
        const expected = { version: before.version + 2, floor: limitsVersion }
        assert.deepEqual(await headOf(projectId), expected, `${name}, limits first: ${limitsFirst}`)
        const shown = answers[limitsFirst ? 0 : 1]?.body.policy_version
        assert.equal(shown, limitsVersion, 'the response has the version that its change got')
      }
    }
  }
})

test('afterwards the workspace is whole', async () => {
  assert.deepEqual(await faultsOf(query, workspaceId), [])
  assert.equal((await ask('GET', '/v1/audit_logs/chain', { token: live })).body.valid, true)
  assert.match(await harness.deps.metrics.text(), /^keyrail_deadlocks_retried_total 0$/m)
})

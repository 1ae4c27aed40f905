import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Heard, startHarness } from '../harness.ts'
import { issueKey, makeVendor, type Vendor } from '../vendor.ts'
import { faultsOf } from '../whole.ts'
import { auditHeadOf, meet, openBarrier, policyHeadOf } from './barrier.ts'

const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)

const limits = [{ id: 'all', limit: 5, window_ms: 1000, algorithm: 'fixed', scope: 'key' }]

interface Scene extends Vendor {
  keyId: string
}

/** Mutations that touch one key, its tenant or its project. */
const mutations = {
  'create key': ({ live, projectId, tenantId }: Scene) =>
    ask('POST', '/v1/keys', {
      token: live,
      body: { project_id: projectId, tenant_id: tenantId, env: 'live' },
    }),
  'rotate key': ({ live, keyId }: Scene) => ask('POST', `/v1/keys/${keyId}/rotate`, { token: live }),
  'revoke key': ({ live, keyId }: Scene) => ask('POST', `/v1/keys/${keyId}/revoke`, { token: live }),
  'patch key': ({ live, keyId }: Scene) =>
    ask('PATCH', `/v1/keys/${keyId}`, { token: live, body: { name: 'patched', scopes: ['patched'] } }),
  'patch limits': ({ live, projectId }: Scene) =>
    ask('PATCH', `/v1/projects/${projectId}`, { token: live, body: { default_rate_limits: limits } }),
  'suspend tenant': ({ live, tenantId }: Scene) =>
    ask('POST', `/v1/tenants/${tenantId}/suspend`, { token: live }),
  'resume tenant': ({ live, tenantId }: Scene) =>
    ask('POST', `/v1/tenants/${tenantId}/resume`, { token: live }),
  'delete tenant': ({ live, tenantId }: Scene) => ask('DELETE', `/v1/tenants/${tenantId}`, { token: live }),
  'delete project': ({ live, projectId }: Scene) =>
    ask('DELETE', `/v1/projects/${projectId}`, { token: live }),
}
type Name = keyof typeof mutations

/** The refusal of the second mutation when the first one has changed its result. */
const afterwards: Partial<Record<Name, Partial<Record<Name, string>>>> = {
  'revoke key': { 'rotate key': 'key_not_active', 'patch key': 'key_not_active' },
  'delete tenant': {
    'create key': 'not_found',
    'rotate key': 'key_not_active',
    'patch key': 'key_not_active',
    'suspend tenant': 'not_found',
    'resume tenant': 'not_found',
    'delete tenant': 'not_found',
  },
  'delete project': {
    'create key': 'not_found',
    'rotate key': 'key_not_active',
    'patch key': 'key_not_active',
    'patch limits': 'not_found',
    'delete project': 'not_found',
  },
}

/** Where the first mutation waits while the second arrives: before it has the head's lock, or with all its locks. */
const places = {
  'before the policy head': ({ projectId }: Scene) => policyHeadOf(projectId),
  'at the end of its work': ({ workspaceId }: Scene) => auditHeadOf(workspaceId),
}

const names = Object.keys(mutations) as Name[]
const codeOf = ({ status, body }: Heard) => (status < 300 ? 'done' : body.code)

for (const [place, held] of Object.entries(places)) {
  for (const first of names) {
    test(`${first}, held ${place}, and any other mutation: both in order, no deadlock`, async () => {
      for (const second of names) {
        const vendor = await makeVendor(harness)
        const scene = { ...vendor, keyId: (await issueKey(harness, vendor)).id }
        const mayResume =
          first === 'resume tenant' || (second === 'resume tenant' && first !== 'suspend tenant')
        if (mayResume) await mutations['suspend tenant'](scene)
        const pair = [() => mutations[first](scene), () => mutations[second](scene)]
        const answers = await meet(barrier, held(scene), pair)
        const expected = ['done', afterwards[first]?.[second] ?? 'done']
        assert.deepEqual(answers.map(codeOf), expected, `${first}, ${second}`)
        assert.deepEqual(await faultsOf(query, scene.workspaceId), [], `${first}, ${second}`)
        const chain = await ask('GET', '/v1/audit_logs/chain', { token: scene.live })
        assert.equal(chain.body.valid, true, `${first}, ${second}`)
      }
      assert.match(await harness.deps.metrics.text(), /^keyrail_deadlocks_retried_total 0$/m)
    })
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Heard, startHarness } from '../harness.ts'
import { issueKey, makeVendor, type Vendor } from '../vendor.ts'
import { faultsOf } from '../whole.ts'
import { auditHeadOf, meet, openBarrier, policyHeadOf } from './barrier.ts'

const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)

interface Scene extends Vendor {
  keyId: string
  otherId: string
}

const ofKey = (verb: string) => (scene: Scene) =>
  ask('POST', `/v1/keys/${scene.keyId}/${verb}`, { token: scene.live })
const many = (verb: string, ids: (scene: Scene) => string[]) => (scene: Scene) =>
  ask('POST', `/v1/keys/${verb}`, { token: scene.live, body: { ids: ids(scene) } })
const both = ({ keyId, otherId }: Scene) => [keyId, otherId]

/** What changes many keys at once, and the state in which it leaves a key that nobody else changes. */
const bulks = {
  revoke: { begin: many('revoke', both), leaves: 'revoked' },
  disable: { begin: many('disable', both), leaves: 'paused' },
  enable: { begin: many('enable', both), leaves: 'active' },
}

/** What meets it, and behind which bulk changes it fails. */
const others = {
  'rotation of a key': { begin: ofKey('rotate'), failsAfter: ['revoke', 'disable'] },
  'revocation of a key': { begin: ofKey('revoke'), failsAfter: [] },
  'pause of a key': { begin: ofKey('disable'), failsAfter: ['revoke'] },
  'resumption of a key': { begin: ofKey('enable'), failsAfter: ['revoke'] },
  'pause of both in the other order': {
    begin: many('disable', scene => both(scene).toReversed()),
    failsAfter: [],
  },
  'change of a key': {
    begin: ({ live, keyId }: Scene) =>
      ask('PATCH', `/v1/keys/${keyId}`, { token: live, body: { scopes: ['patched'] } }),
    failsAfter: ['revoke'],
  },
  'suspension of the tenant': {
    begin: ({ live, tenantId }: Scene) => ask('POST', `/v1/tenants/${tenantId}/suspend`, { token: live }),
    failsAfter: [],
  },
  'deletion of the tenant': {
    begin: ({ live, tenantId }: Scene) => ask('DELETE', `/v1/tenants/${tenantId}`, { token: live }),
    failsAfter: [],
  },
  'deletion of the project': {
    begin: ({ live, projectId }: Scene) => ask('DELETE', `/v1/projects/${projectId}`, { token: live }),
    failsAfter: [],
  },
} satisfies Record<string, { begin: (scene: Scene) => Promise<Heard>; failsAfter: string[] }>

/** Where the first one waits while the second arrives: before it has the head's lock, or with all its locks. */
const places = {
  'before the policy head': ({ projectId }: Scene) => policyHeadOf(projectId),
  'at the end of its work': ({ workspaceId }: Scene) => auditHeadOf(workspaceId),
}

async function makeRace(action: string): Promise<Scene> {
  const vendor = await makeVendor(harness)
  const { id: keyId } = await issueKey(harness, vendor)
  const { id: otherId } = await issueKey(harness, vendor)
  const scene = { ...vendor, keyId, otherId }
  if (action === 'enable') await many('disable', both)(scene)
  return scene
}

async function stateOf(id: string): Promise<string> {
  const [row] = await query('select revoked_at, disabled_at from api_keys where id = $1', [id])
  return row?.revoked_at !== null ? 'revoked' : row?.disabled_at !== null ? 'paused' : 'active'
}

const codeOf = ({ status, body }: Heard) => (status < 300 ? 'done' : body.code)

for (const [action, { begin, leaves }] of Object.entries(bulks)) {
  for (const [place, held] of Object.entries(places)) {
    test(`${action} of many keys, ${place}, and what comes meanwhile: one after the other`, async () => {
      for (const [name, other] of Object.entries(others)) {
        const scene = await makeRace(action)
        const [first, second] = await meet(barrier, held(scene), [
          () => begin(scene),
          () => other.begin(scene),
        ])
        assert.deepEqual([first?.body.done, first?.body.failed], [2, 0], name)
        const fails = (other.failsAfter as string[]).includes(action)
        assert.equal(second && codeOf(second), fails ? 'key_not_active' : 'done', name)
        // All but these three leave the other key alone.
        if (!/both|deletion/.test(name)) assert.equal(await stateOf(scene.otherId), leaves, name)
        assert.deepEqual(await faultsOf(query, scene.workspaceId), [], name)
      }
    })
  }

  test(`what comes first, and ${action} of many keys: the others change all the same`, async () => {
    for (const [name, other] of Object.entries(others)) {
      const scene = await makeRace(action)
      const [first, second] = await meet(barrier, policyHeadOf(scene.projectId), [
        () => other.begin(scene),
        () => begin(scene),
      ])
      const { status, body } = second ?? assert.fail()
      assert.equal(status, 200, name)
      assert.equal(body.done + body.failed, 2, name)
      const failures = body.failures.map(({ code }: { code: string }) => code)
      // An ended key is revoked already, and neither paused nor resumed.
      const isEnded = (id: string) =>
        name.startsWith('deletion') || (name === 'revocation of a key' && id === scene.keyId)
      const due = action === 'revoke' ? [] : both(scene).filter(isEnded)
      const isPaused = action === 'enable' && name === 'rotation of a key'
      assert.equal(first && codeOf(first), isPaused ? 'key_not_active' : 'done', name)
      assert.deepEqual(
        failures,
        due.map(() => 'key_not_active'),
        name,
      )
      assert.deepEqual(await faultsOf(query, scene.workspaceId), [], name)
    }
  })
}

test('no two of them have waited for each other', async () => {
  assert.match(await harness.deps.metrics.text(), /^keyrail_deadlocks_retried_total 0$/m)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitAcceptance, stopAcceptances } from '../../src/platform/db/right.ts'
import { reportPath, signedReport } from '../codehost.ts'
import { type Heard, startHarness } from '../harness.ts'
import { makersOf } from '../makers.ts'
import { makePerson } from '../people.ts'
import { until } from '../until.ts'
import { uniqueSlug } from '../vendor.ts'
import { faultsOf } from '../whole.ts'
import { auditHeadOf, meet, openBarrier } from './barrier.ts'

/**
 * Makes something at the moment at which its maker ends. If the making comes first, the result ends with its
 * maker; if it comes second, it is refused, or ends with the key that made it.
 */
const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)
const { invite, accept, isAlive, statusOf, makeScene } = makersOf(harness)
type Scene = Awaited<ReturnType<typeof makeScene>>
type Send = (scene: Scene) => Promise<Heard>

/** How many were retried so far. */
const deadlocks = async ({ deps }: Pick<typeof harness, 'deps'> = harness) =>
  Number(/^keyrail_deadlocks_retried_total (\d+)$/m.exec(await deps.metrics.text())?.[1])

/** Each one ends the leaver's key `child` and everything made with it. */
const cascades: Record<string, Send> = {
  'a revocation with cascade': ({ owner, child }) =>
    ask('POST', `/v1/secret_keys/${child.id}/revoke`, { token: owner.token, body: { cascade: true } }),
  'a removal that revokes keys': ({ owner, leaver }) =>
    ask('DELETE', `/v1/members/${leaver.userId}?revoke_keys=true`, { token: owner.token }),
  'a demotion that revokes keys': ({ owner, leaver }) =>
    ask('PATCH', `/v1/members/${leaver.userId}`, {
      token: owner.token,
      body: { role: 'member', revoke_keys: true },
    }),
  'a leak report': ({ child }) => ask('POST', reportPath, signedReport([{ token: child.key, type: 'key' }])),
  'a revocation by a key that ends with it': ({ grandchild, child }) =>
    ask('POST', `/v1/secret_keys/${child.id}/revoke`, { token: grandchild.key, body: { cascade: true } }),
}
/** Each one makes something with a key that ends. */
const makings: Record<string, Send> = {
  'the key’s new key': ({ child }) =>
    ask('POST', '/v1/secret_keys', { token: child.key, body: { env: 'live' } }),
  'a new key of the key’s key': ({ grandchild }) =>
    ask('POST', '/v1/secret_keys', { token: grandchild.key, body: { env: 'live' } }),
  'a successor of the key’s key': ({ grandchild }) =>
    ask('POST', `/v1/secret_keys/${grandchild.id}/rotate`, { token: grandchild.key }),
  'an invitation of the key’s key': ({ grandchild }) =>
    ask('POST', '/v1/invites', {
      token: grandchild.key,
      body: { email: `${uniqueSlug()}@example.com`, role: 'owner' },
    }),
}
const isDone = ({ status }: Heard) => status < 300

/** Asserts that nothing that was made still gives access. */
async function assertDead({ live }: Scene, { body }: Heard): Promise<void> {
  if (body.object === 'secret_key') assert.equal(await isAlive(body), false)
  else {
    assert.equal(await statusOf(live, body), 'revoked')
    assert.equal((await accept(await makePerson(query), body)).body.code, 'invalid_token')
  }
}

for (const [cascade, end] of Object.entries(cascades)) {
  for (const [making, make] of Object.entries(makings)) {
    test(`${making} ends with ${cascade} that overtakes its commit`, async () => {
      const scene = await makeScene()
      const pair = [() => make(scene), () => end(scene)]
      const [made, ended] = await meet(barrier, auditHeadOf(scene.workspaceId), pair)
      assert.ok(made && ended && isDone(made) && isDone(ended), JSON.stringify([made?.body, ended?.body]))
      await assertDead(scene, made)
      assert.deepEqual(await faultsOf(query, scene.workspaceId), [])
    })

    test(`${making} behind ${cascade} is refused, or ends too`, async () => {
      const scene = await makeScene()
      const pair = [() => end(scene), () => make(scene)]
      const [ended, made] = await meet(barrier, auditHeadOf(scene.workspaceId), pair)
      assert.ok(ended && made && isDone(ended), JSON.stringify(ended?.body))
      // A key below the maker ends a moment after it, and with what it has made until then.
      if (isDone(made)) await assertDead(scene, made)
      else assert.equal(made.status, 401, JSON.stringify(made.body))
      assert.deepEqual(await faultsOf(query, scene.workspaceId), [])
    })
  }
}

/** Invitations end with their maker even without `cascade`. */
const endings: Record<string, Send> = {
  'a revocation': ({ owner, child }) =>
    ask('POST', `/v1/secret_keys/${child.id}/revoke`, { token: owner.token }),
  'a removal': ({ owner, leaver }) => ask('DELETE', `/v1/members/${leaver.userId}`, { token: owner.token }),
  'a demotion': ({ owner, leaver }) =>
    ask('PATCH', `/v1/members/${leaver.userId}`, { token: owner.token, body: { role: 'admin' } }),
}
for (const [ending, end] of Object.entries(endings)) {
  test(`${ending} and a concurrent acceptance: the first decides the membership`, async () => {
    for (const endsFirst of [false, true]) {
      const scene = await makeScene()
      const invitation = await invite(scene.child.key)
      const guest = await makePerson(query)
      const enter = () => accept(guest, invitation)
      const pair = endsFirst ? [() => end(scene), enter] : [enter, () => end(scene)]
      const answers = await meet(barrier, auditHeadOf(scene.workspaceId), pair)
      const codes = answers.map(answer => (isDone(answer) ? 'done' : answer.body.code))
      assert.deepEqual(codes, ['done', endsFirst ? 'invalid_token' : 'done'])
      assert.equal(await statusOf(scene.live, invitation), endsFirst ? 'revoked' : 'accepted')
      assert.deepEqual(await faultsOf(query, scene.workspaceId), [])
    }
  })
}

test('a revocation finds the invitation that its key is making', async () => {
  const scene = await makeScene()
  const body = { email: `${uniqueSlug()}@example.com`, role: 'owner' }
  const [made, ended] = await meet(barrier, auditHeadOf(scene.workspaceId), [
    () => ask('POST', '/v1/invites', { token: scene.child.key, body }),
    () => ask('POST', `/v1/secret_keys/${scene.child.id}/revoke`, { token: scene.owner.token }),
  ])
  assert.ok(made && ended && isDone(made) && isDone(ended))
  await assertDead(scene, made)
})

test('a removal finds the key that the person is making', async () => {
  const scene = await makeScene()
  const [made, removed] = await meet(barrier, auditHeadOf(scene.workspaceId), [
    () => ask('POST', '/v1/secret_keys', { token: scene.leaver.token, body: { env: 'live' } }),
    () => ask('DELETE', `/v1/members/${scene.leaver.userId}?revoke_keys=true`, { token: scene.owner.token }),
  ])
  assert.ok(made && removed && isDone(made) && isDone(removed))
  await assertDead(scene, made)
})

test('a leak of a session finds the key that is being made in it', async () => {
  const scene = await makeScene()
  const [made, reported] = await meet(barrier, auditHeadOf(scene.workspaceId), [
    () => ask('POST', '/v1/secret_keys', { token: scene.leaver.token, body: { env: 'live' } }),
    () => ask('POST', reportPath, signedReport([{ token: scene.leaver.token, type: 'session' }])),
  ])
  assert.ok(made && reported && isDone(made) && isDone(reported))
  await assertDead(scene, made)
})

test('an acceptance and the leak of its session take their locks in one order', async () => {
  for (const leaksFirst of [false, true]) {
    const scene = await makeScene()
    const invitation = await invite(scene.live)
    const enter = () => accept(scene.leaver, invitation)
    const report = () =>
      ask('POST', reportPath, signedReport([{ token: scene.leaver.token, type: 'session' }]))
    // Shared, as an acceptance by somebody else: it stops the report, and an acceptance only behind a report.
    const lock = leaksFirst ? admitAcceptance : stopAcceptances
    const pair = leaksFirst ? [report, enter] : [enter, report]
    const answers = await meet(barrier, [lock.text, [scene.workspaceId]], pair)
    const codes = answers.map(answer => (isDone(answer) ? 'done' : answer.body.code))
    assert.deepEqual(codes, leaksFirst ? ['done', 'unauthenticated'] : ['already_member', 'done'])
    assert.equal(await deadlocks(), 0)
    assert.deepEqual(await faultsOf(query, scene.workspaceId), [])
  }
})

test('a key that rotates itself and makes another under one idempotency key wait in one order', async () => {
  const other = await harness.startImpatient()
  for (const rotatesFirst of [true, false, true, false, true, false]) {
    const { child, workspaceId } = await makeScene()
    const headers = { 'idempotency-key': 'one' }
    const rotate = () =>
      ask('POST', `/v1/secret_keys/${child.id}/rotate`, { token: child.key, headers, body: {} })
    // In one process they would take turns.
    const make = () =>
      other.ask('POST', '/v1/secret_keys', { token: child.key, headers, body: { env: 'live' } })
    const claimed: [string, unknown[]] = [
      `insert into replays (workspace_id, caller, key, fingerprint) values ($1, $2, 'one', sha256(''))`,
      [workspaceId, `secret_key:${child.id}`],
    ]
    const answers = await meet(barrier, claimed, rotatesFirst ? [rotate, make] : [make, rotate])
    assert.deepEqual([await deadlocks(), await deadlocks(other)], [0, 0])
    assert.deepEqual(
      answers.map(answer => (isDone(answer) ? 'done' : answer.body.code)),
      ['done', 'idempotency_key_reused'],
    )
  }
})

test('a cascade leaves nothing alive, even while many make keys without a pause', async () => {
  for (let round = 0; round < 3; round += 1) {
    const scene = await makeScene()
    const made: { key: string }[] = []
    let over = false
    const breed = async (parent: { key: string }): Promise<void> => {
      if (over || made.length > 200) return
      const { status, body } = await ask('POST', '/v1/secret_keys', {
        token: parent.key,
        body: { env: 'live' },
      })
      assert.ok([201, 401, 503].includes(status), JSON.stringify(body))
      if (status !== 201) return
      made.push(body)
      await Promise.all([breed(body), breed(parent)])
    }
    const breeding = Promise.all([breed(scene.child), breed(scene.grandchild), breed(scene.grandchild)])
    await until(() => made.length >= 20)
    const end = () => cascades['a revocation with cascade']?.(scene)
    let ended: Heard | undefined
    // On a busy machine it may reach its deadline while it waits for the others.
    await until(async () => {
      ended = await end()
      return ended?.status !== 503
    })
    assert.equal(ended?.status, 200, JSON.stringify(ended?.body))
    over = true
    await breeding
    assert.deepEqual(
      await Promise.all(made.map(isAlive)),
      made.map(() => false),
    )
    assert.deepEqual(await faultsOf(query, scene.workspaceId), [])
  }
})

test('none of these races caused a deadlock', async () => {
  assert.equal(await deadlocks(), 0)
})

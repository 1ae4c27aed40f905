import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '../../src/routes.ts'
import { type Ending, endEmbedTokens, endMembership, endSession, revokeSecretKey } from '../endings.ts'
import { bootstrapToken, type Heard, startHarness } from '../harness.ts'
import { type MutationRequest, mutationsOf } from '../mutations.ts'
import { addMember, makePerson, openSession } from '../people.ts'
import { makeSecretKey, makeVendor, type Vendor } from '../vendor.ts'
import { faultsOf } from '../whole.ts'
import { auditHeadOf, meet, openBarrier } from './barrier.ts'

/**
 * Runs every mutation against everything that ends its caller's right, in both orders. A mutation that comes
 * first is whole; one that comes second is refused and writes nothing.
 */
const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)
const vendor = await makeVendor(harness)
// This owner stays, so that the workspace always has one.
await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
const mutations = mutationsOf(routes).filter(({ route }) => route.operation !== 'createWorkspace')

/** A mutation that is ready to be sent, its sender, and what ends the sender's right. */
interface Match {
  request: MutationRequest
  actorId: string
  ending: Ending
}

type Prepare = (operation: (typeof mutations)[number]) => Promise<Match>

const prepareAs = async (
  { prepare }: (typeof mutations)[number],
  live: string,
  scene: Vendor = vendor,
): Promise<MutationRequest> => {
  const request = await prepare({ ask, query, bootstrapToken, scene })
  return { ...request, token: request.token === scene.live ? live : request.token }
}

const makeKey = () => makeSecretKey(harness, vendor)

const byKey: Prepare = async mutation => {
  const { id, key } = await makeKey()
  return {
    request: await prepareAs(mutation, key),
    actorId: id,
    ending: revokeSecretKey(harness, vendor, id),
  }
}

/** The n-th way in which a member's right ends. */
const byMember =
  (n: number): Prepare =>
  async mutation => {
    const person = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
    const [ending] = [...endMembership(harness, vendor, person), ...endSession(harness, person)].slice(n)
    assert.ok(ending)
    return { request: await prepareAs(mutation, person.token), actorId: person.userId, ending }
  }

/** The n-th way in which an embed token's right ends. */
const byBrowser =
  (n: number): Prepare =>
  async mutation => {
    const minter = await makeKey()
    const request = await prepareAs(mutation, vendor.live, { ...vendor, live: minter.key })
    const { sub, jti } = JSON.parse(Buffer.from(request.token.split('.')[1] ?? '', 'base64url').toString())
    const [ending] = endEmbedTokens(harness, vendor, sub, minter).slice(n)
    assert.ok(ending)
    return { request, actorId: jti, ending }
  }

/** The n-th way in which the session of a person without a workspace ends. */
const byGuest =
  (n: number): Prepare =>
  async mutation => {
    const { userId } = await makePerson(query)
    if (mutation.route.operation === 'leaveWorkspace')
      await addMember(query, vendor.workspaceId, userId, 'admin')
    else if (mutation.route.path.startsWith('/v1/auth/workspaces/')) await makeUnproven(userId)
    const { sessionId, token } = await openSession(query, userId)
    const [ending] = endSession(harness, { userId, sessionId }).slice(n)
    assert.ok(ending)
    return { request: { ...(await prepareAs(mutation, token)), token }, actorId: userId, ending }
  }

/** Makes the person a member of a workspace whose fate the person has not decided. */
async function makeUnproven(userId: string): Promise<void> {
  await addMember(query, vendor.workspaceId, userId, 'owner')
  await query('update users set disowned_count = 1 where id = $1', [userId])
}

function preparationsOf({ route }: (typeof mutations)[number]): Prepare[] {
  if (route.plane === 'embed') return [byBrowser(0), byBrowser(1), byBrowser(2), byBrowser(3)]
  if (route.plane === 'person') return [byGuest(0), byGuest(1), byGuest(2)]
  if (!route.access.open && !route.access.credentials.includes('session')) return [byKey]
  return [byKey, byMember(0), byMember(1), byMember(2), byMember(3), byMember(4), byMember(5)]
}

const isDone = ({ status }: Pick<Heard, 'status'>) => status < 300
const rowsOf = async (actorId: string) =>
  (await query('select action from audit_logs where actor_id = $1', [actorId])).map(({ action }) => action)

for (const mutation of mutations) {
  const { route } = mutation
  const send = ({ url, token, body }: MutationRequest) => ask(route.method, url, { token, body })

  test(`${route.operation} that came first is done before its right ends`, async () => {
    for (const prepare of preparationsOf(mutation)) {
      const { request, ending } = await prepare(mutation)
      const held = auditHeadOf(request.workspaceId ?? vendor.workspaceId)
      const answers = await meet<Pick<Heard, 'status'>>(barrier, held, [() => send(request), ending.end])
      assert.deepEqual(answers.map(isDone), [true, true], `${ending.name} ${JSON.stringify(answers)}`)
    }
    assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])
  })

  test(`${route.operation} behind the end of its right is refused and writes nothing`, async () => {
    for (const prepare of preparationsOf(mutation)) {
      const { request, actorId, ending } = await prepare(mutation)
      const pair = [ending.end, () => send(request)]
      const [ended, refused] = await meet<Pick<Heard, 'status'>>(barrier, ending.lastLock(), pair)
      assert.ok(ended && isDone(ended), ending.name)
      const again = await send(request)
      assert.ok(again.status === 401 || again.status === 403, ending.name)
      assert.deepEqual(codeOf(refused as Heard), codeOf(again), ending.name)
      assert.deepEqual(await rowsOf(actorId), ending.rows ?? [], ending.name)
    }
    assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])
  })
}

const codeOf = ({ status, body }: Heard) => [status, body.code]

test('none of these races caused a deadlock', async () => {
  assert.match(await harness.deps.metrics.text(), /^keyrail_deadlocks_retried_total 0$/m)
})

test('two owners’ keys that revoke each other: one succeeds, without a deadlock', async () => {
  const [first, second] = [await makeKey(), await makeKey()]
  const revoke = (token: string, id: string) => () => ask('POST', `/v1/secret_keys/${id}/revoke`, { token })
  const answers = await meet(barrier, auditHeadOf(vendor.workspaceId), [
    revoke(first.key, second.id),
    revoke(second.key, first.id),
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 401],
  )
  assert.match(await harness.deps.metrics.text(), /^keyrail_deadlocks_retried_total 0$/m)
})

test('a key that revokes itself twice at once gets two responses', async () => {
  const { id, key } = await makeKey()
  const revoke = () => ask('POST', `/v1/secret_keys/${id}/revoke`, { token: key })
  const answers = await meet(barrier, auditHeadOf(vendor.workspaceId), [revoke, revoke])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 401],
  )
})

test('a revocation is not overtaken by later mutations of a busy key', async () => {
  const { id, key } = await makeKey()
  const create = () => ask('POST', '/v1/tenants', { token: key, body: { external_id: crypto.randomUUID() } })
  const revoke = () => ask('POST', `/v1/secret_keys/${id}/revoke`, { token: vendor.live })
  const answers = await meet(barrier, auditHeadOf(vendor.workspaceId), [create, revoke, create, create])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 200, 401, 401],
  )
})

test('a stranger who names a workspace’s ids does not delay its mutations', async () => {
  const stranger = await makeVendor(harness)
  const { id, key } = await makeKey()
  await barrier.hold('select seq from audit_heads where workspace_id = $1 for update', [stranger.workspaceId])
  const rename = ask('PATCH', '/v1/workspace', { token: stranger.live, body: { name: 'Waits' } })
  await barrier.untilWaiting(1)
  const revoked = ask('POST', `/v1/secret_keys/${id}/revoke`, { token: stranger.live })
  const made = await ask('POST', '/v1/tenants', { token: key, body: { external_id: crypto.randomUUID() } })
  await barrier.release()
  assert.deepEqual([made.status, (await revoked).status, (await rename).status], [201, 404, 200])
})

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import type { Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { deleteWorkspace, endEmbedTokens, endMembership, endSession, revokeSecretKey } from './endings.ts'
import { startHarness } from './harness.ts'
import { makePerson } from './people.ts'
import { nameOf, sampleOf } from './samples.ts'
import { until } from './until.ts'
import { makeSecretKey, makeVendor, type Vendor } from './vendor.ts'
import { openWire, readAll, readAnswers, type WireAnswer } from './wire.ts'

/**
 * A thief sends the head of a request and the first bytes of its body, and the rest after the credential has
 * ended. Every unsafe route answers as if the whole request had come after the end, and writes nothing.
 */
export const harness = await startHarness()
const { app, query } = harness
const wire = await openWire(harness)
const arrived: IncomingMessage[] = []
app.server.on('request', request => arrived.push(request))

/** Longer than a credential look-up is reused, and than a body may take before the credential is checked again. */
export const heldMs = 5_001

interface HeldRequest {
  method: string
  url: string
  token: string
  payload: string
  /** For the header `Keyrail-Workspace`. */
  workspaceId?: string
}

/**
 * Sends all but the last byte of a request, waits until the service reads the body, and sends the rest after
 * `meanwhile`.
 */
export async function sendHeld(
  { method, url, token, payload, workspaceId }: HeldRequest,
  meanwhile: () => Promise<unknown>,
): Promise<WireAnswer> {
  const head = [
    `${method} ${url} HTTP/1.1`,
    'host: here',
    'connection: close',
    `authorization: Bearer ${token}`,
    ...(workspaceId === undefined ? [] : [`keyrail-workspace: ${workspaceId}`]),
    'content-type: application/json',
    `content-length: ${payload.length}`,
  ]
  const socket = await wire.open()
  const answer = readAll(socket)
  arrived.length = 0
  socket.write(`${head.join('\r\n')}\r\n\r\n${payload.slice(0, -1)}`)
  await until(() => (arrived[0]?.listenerCount('data') ?? 0) > 0)
  await meanwhile()
  socket.write(payload.slice(-1))
  const [heard] = readAnswers(await answer)
  assert.ok(heard, `no answer to ${method} ${url}`)
  return heard
}

interface Attack {
  name: string
  token: string
  end(): Promise<unknown>
}

/** Every kind of credential that may call the route in this workspace, with each way to end its right. */
async function attacksOn(route: Route, vendor: Vendor, ownToken: string | undefined): Promise<Attack[]> {
  const { access } = route
  if (access.open) return []
  const attacks: Attack[] = []
  const deleted = (token: string) => ({
    name: 'the workspace is deleted',
    token,
    end: () => deleteWorkspace(harness, vendor.workspaceId),
  })
  if (access.credentials.includes('secret_key')) {
    const { id, key } = await makeSecretKey(harness, vendor)
    attacks.push({ ...revokeSecretKey(harness, vendor, id), token: key })
    attacks.push(deleted(vendor.live))
  }
  if (access.credentials.includes('session') && access.inWorkspace) {
    const makeOwner = () => makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
    for (const n of [0, 1, 2, 3]) {
      const person = await makeOwner()
      const [ending] = [...endMembership(harness, vendor, person), ...endSession(harness, person)].slice(n)
      assert.ok(ending)
      // A member keeps the right to what members may do.
      if (ending.name === 'the member is demoted' && access.role === 'member') continue
      attacks.push({ ...ending, token: person.token })
    }
    attacks.push(deleted((await makeOwner()).token))
  }
  if (access.credentials.includes('session') && !access.inWorkspace) {
    const token = ownToken?.startsWith('krses_') ? ownToken : (await makePerson(query)).token
    const person = await sessionOf(token)
    attacks.push(...endSession(harness, person).map(ending => ({ ...ending, token })))
  }
  if (access.credentials.includes('embed_token') && ownToken !== undefined) {
    const endings = endEmbedTokens(harness, vendor, vendor.tenantId, { id: vendor.liveId, key: vendor.live })
    attacks.push(...endings.map(ending => ({ ...ending, token: ownToken })), deleted(ownToken))
  }
  return attacks
}

async function sessionOf(token: string): Promise<{ userId: string; sessionId: string }> {
  const [row] = await query(
    'select s.user_id, s.id from credentials c join sessions s on s.id = c.id where c.digest = $1',
    [hash('sha256', token, 'buffer')],
  )
  return { userId: row.user_id, sessionId: row.id }
}

/** Each attack ends something for good, so each one gets its own workspace and request. */
async function stage(route: Route, n: number) {
  const vendor = await makeVendor(harness)
  await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
  const sample = await sampleOf(route, harness, vendor)
  const attacks = await attacksOn(route, vendor, sample.token)
  const attack = attacks[n]
  const payload = JSON.stringify(sample.body ?? {})
  return (
    attack && { attack, request: { method: route.method, url: sample.url, token: attack.token, payload } }
  )
}

const unsafe = routes.filter(({ method, access }) => method !== 'GET' && !access.open)

/** Tests every second unsafe route, from the first or from the second: each half is a file, because each attack reads the whole store. */
export function testHeldBodies(half: 0 | 1): void {
  for (const route of unsafe.filter((_, n) => n % 2 === half)) {
    test(`${nameOf(route)} refuses a credential that ended while its body arrived`, async () => {
      for (let n = 0; ; n += 1) {
        const staged = await stage(route, n)
        if (staged === undefined) {
          assert.ok(n > 0, 'no credential may call it')
          return
        }
        const { attack, request } = staged
        let before: unknown
        const held = await sendHeld(request, async () => {
          await attack.end()
          harness.clock.skip(heldMs)
          before = await dump(query)
        })
        assert.deepEqual(await dump(query), before, attack.name)
        const { payload, ...fresh } = request
        const again = await harness.ask(fresh.method, fresh.url, { token: fresh.token, body: payload })
        assert.ok(
          [401, 403].includes(held.status),
          `${attack.name}: ${held.status} ${JSON.stringify(held.body)}`,
        )
        assert.deepEqual([held.status, held.body.code], [again.status, again.body.code], attack.name)
      }
    })
  }
}

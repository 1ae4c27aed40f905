import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mintToken } from '../../packages/server/test/embed.ts'
import type { AskApi } from '../../packages/server/test/mutations.ts'
import { madePassword } from '../../packages/server/test/people.ts'
import { until } from '../../packages/server/test/until.ts'
import {
  issueKey,
  makeInvite,
  makeSecretKey,
  makeTenant,
  type Scene,
  uniqueSlug,
} from '../../packages/server/test/vendor.ts'

/** What one release writes, signs or seals, and another one reads. Each plane fails with the assertion that did not hold. */

/** Its first token makes the installation's first signing key. */
export const signingPlane = 'embed tokens'

export interface Person {
  email: string
}

interface Meeting {
  scene: Scene
  person: Person
  /** The release that writes. */
  writer: AskApi
  /** The release that reads. */
  reader: AskApi
}

export const planes: Record<string, (meeting: Meeting) => Promise<void>> = {
  async keys({ scene, writer, reader }) {
    const name = uniqueSlug('key')
    const { id } = await issueKey({ ask: writer }, scene, { name })
    assert.equal((await asked(reader, 'GET', `/v1/keys/${id}`, scene.live)).name, name)
    await asked(reader, 'POST', `/v1/keys/${id}/revoke`, scene.live, {})
    assert.notEqual((await asked(writer, 'GET', `/v1/keys/${id}`, scene.live)).revoked_at, null)
  },

  async 'cursors of lists'({ scene, writer, reader }) {
    for (const [list, make] of [
      ['/v1/keys', () => issueKey({ ask: writer }, scene)],
      ['/v1/tenants', () => makeTenant({ ask: writer }, scene)],
      ['/v1/secret_keys', () => makeSecretKey({ ask: writer }, scene)],
      ['/v1/audit_logs', async () => {}],
    ] as const) {
      await make()
      await make()
      const first = await asked(writer, 'GET', `${list}?limit=1`, scene.live)
      const path = `${list}?limit=1&cursor=${encodeURIComponent(first.next_cursor)}`
      const second = await asked(reader, 'GET', path, scene.live)
      assert.notEqual(JSON.stringify(second.data[0]), JSON.stringify(first.data[0]), list)
    }
  },

  async 'repeated requests'({ scene, writer, reader }) {
    const headers = { 'idempotency-key': randomUUID() }
    const body = { external_id: uniqueSlug('org') }
    const sent = await writer('POST', '/v1/tenants', { token: scene.live, body, headers })
    const again = await reader('POST', '/v1/tenants', { token: scene.live, body, headers })
    assert.deepEqual([again.status, again.body.id], [201, sent.body.id])
  },

  async 'secret keys'({ scene, writer, reader }) {
    const { id, key } = await makeSecretKey({ ask: writer }, scene)
    await asked(reader, 'GET', '/v1/projects', key)
    await asked(writer, 'POST', `/v1/secret_keys/${id}/revoke`, scene.live, {})
    await refused(reader, '/v1/projects', key)
  },

  async [signingPlane]({ scene, writer, reader }) {
    const tenant = await makeTenant({ ask: writer }, scene)
    // Each release takes the scopes of the release before, and not those that came since.
    const scopes = ['keys:read', 'keys:write']
    const token = await mintToken({ ask: writer }, { ...scene, tenantId: tenant.id }, { scopes })
    const session = await asked(reader, 'GET', '/v1/embed/session', token)
    assert.equal(session.tenant.id, tenant.id)
    const { id } = await asked(reader, 'POST', '/v1/embed/keys', token, { name: 'embedded' }, 201)
    const listed = await asked(writer, 'GET', '/v1/embed/keys', token)
    assert.deepEqual(
      listed.data.map((key: { id: string }) => key.id),
      [id],
    )
    const published = await asked(reader, 'GET', '/.well-known/jwks.json')
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
    assert.ok(published.keys.some((key: { kid: string }) => key.kid === kid))
    await asked(writer, 'POST', `/v1/tenants/${tenant.id}/embed_tokens/revoke`, scene.live, {})
    await refused(reader, '/v1/embed/session', token)
  },

  async sessions({ person, writer, reader }) {
    const body = { email: person.email, password: madePassword }
    const { token } = await asked(writer, 'POST', '/v1/auth/sessions', undefined, body, 201)
    const me = await asked(reader, 'GET', '/v1/auth/me', token)
    assert.equal(me.email, person.email)
    await asked(writer, 'DELETE', '/v1/auth/sessions/current', token)
    await refused(reader, '/v1/auth/me', token)
  },

  async invitations({ scene, writer, reader }) {
    const invite = await makeInvite({ ask: writer }, scene)
    const listed = await asked(reader, 'GET', '/v1/invites', scene.live)
    assert.ok(listed.data.some(({ id }: { id: string }) => id === invite.id))
    await asked(reader, 'POST', `/v1/invites/${invite.id}/revoke`, scene.live)
  },

  async claims({ scene, writer, reader }) {
    const scoped = { scope_hash: randomBytes(32).toString('hex'), env: 'live' }
    const claim = { ...scoped, fingerprint: '0'.repeat(64) }
    const ask = (through: AskApi, name: string, body: object) =>
      asked(through, 'POST', `/v1/idempotency/${name}`, scene.live, body)
    const { lock_token } = await ask(writer, 'claim', claim)
    assert.equal((await ask(reader, 'claim', claim)).verdict, 'in_progress')
    assert.equal((await ask(reader, 'heartbeat', { ...scoped, lock_token })).verdict, 'extended')
    const outcome = { status: 201, headers: { 'content-type': 'text/plain' }, body: 'b2s=' }
    assert.equal((await ask(reader, 'complete', { ...scoped, lock_token, ...outcome })).verdict, 'completed')
    assert.deepEqual((await ask(writer, 'claim', claim)).response, outcome)
    assert.deepEqual((await ask(reader, 'claim', claim)).response, outcome)
  },

  async 'rate limits'({ scene, writer, reader }) {
    const { projectId, live } = scene
    const tenant = await makeTenant({ ask: writer }, scene)
    const limits = [{ id: 'day', limit: 10, window_ms: 86_400_000, algorithm: 'sliding', scope: 'tenant' }]
    const body = { project_id: projectId, tenant_id: tenant.id, env: 'live', limits }
    const first = await asked(writer, 'POST', '/v1/ratelimit/check', live, body)
    const second = await asked(reader, 'POST', '/v1/ratelimit/check', live, body)
    assert.deepEqual([first.limits[0].remaining, second.limits[0].remaining], [9, 8])
  },

  async usage({ scene, writer, reader }) {
    const { id } = await issueKey({ ask: writer }, scene)
    const hour = new Date().toISOString()
    const report = { report_id: randomUUID(), sample_rate: 1, records: [{ key_id: id, hour, count: 3 }] }
    const first = await asked(writer, 'POST', '/v1/usage/reports', scene.live, report, 202)
    assert.deepEqual(await asked(reader, 'POST', '/v1/usage/reports', scene.live, report, 202), first)
  },

  async 'the audit chain'({ scene, reader }) {
    const { valid } = await asked(reader, 'GET', '/v1/audit_logs/chain', scene.live)
    assert.equal(valid, true)
  },
}

export async function signUp(ask: AskApi): Promise<Person> {
  const email = `${uniqueSlug('person')}@example.com`
  await asked(ask, 'POST', '/v1/auth/users', undefined, { email, password: madePassword }, 202)
  return { email }
}

async function asked(
  ask: AskApi,
  method: string,
  url: string,
  token?: string,
  body?: unknown,
  expected = 200,
) {
  const answer = await ask(method, url, {
    ...(token !== undefined && { token }),
    ...(body !== undefined && { body }),
  })
  assert.equal(answer.status, expected, `${method} ${url}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** A process may know a credential for some seconds after another one has ended it. */
const refused = (ask: AskApi, url: string, token: string) =>
  until(async () => (await ask('GET', url, { token })).status === 401, `${url} is refused`)

import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type MadePerson, makePerson, openSession } from '../../packages/server/test/people.ts'
import { issueKey, makeInvite } from '../../packages/server/test/vendor.ts'
import { plainly } from './api.ts'
import { type Ask, expectSo, expectStatus, type FleetStage } from './fleet-stage.ts'

/** What one process does counts in every other. `here` and `there` are two running processes; `all` are all of them. */
export type FleetCase = (stage: FleetStage, here: Ask, there: Ask, all: readonly Ask[]) => Promise<void>

/** Longer than the default time for which the look-up of a secret key may be reused. */
const hotReuseMs = 5_000

export const fleetCases: Record<string, FleetCase> = {
  async 'a revoked key is in the next delta of another'({ scene }, here, there) {
    const { live: token, projectId } = scene
    const key = await issueKey({ ask: plainly({ ask: here, close() {} }) }, scene)
    const delta = (since: number) =>
      expectStatus(
        there('GET', `/v1/policy/delta?project_id=${projectId}&since=${since}`, { token }),
        200,
        'delta',
      )
    const known = await expectStatus(
      there('GET', `/v1/policy/snapshot?project_id=${projectId}&max_keys=5000`, { token }),
      200,
      'snapshot',
    )
    expectSo(JSON.stringify(known.keys).includes(key.id), 'a new key is in the snapshot of another process')
    await expectStatus(here('POST', `/v1/keys/${key.id}/revoke`, { token }), 200, 'revoke')
    const { changes } = await delta(known.version)
    expectSo(
      changes.some(
        (one: { key_id: string; change: string }) => one.key_id === key.id && one.change === 'tombstone',
      ),
      'the next delta of another process has the tombstone',
    )
  },

  async 'a revoked secret key is refused at once, and on the request path within its reuse'(
    stage,
    here,
    there,
  ) {
    const { live: token, projectId } = stage.scene
    const made = await expectStatus(
      here('POST', '/v1/secret_keys', { token, body: { env: 'live' } }),
      201,
      'secret key',
    )
    const limits = [{ id: 'all', limit: 1_000_000, window_ms: 60_000, algorithm: 'fixed', scope: 'tenant' }]
    const body = { project_id: projectId, env: 'live', limits }
    const check = () => there('POST', '/v1/ratelimit/check', { token: made.key, body })
    await expectStatus(check(), 200, 'check')
    await expectStatus(here('POST', `/v1/secret_keys/${made.id}/revoke`, { token }), 200, 'revoke')
    const revokedAt = performance.now()
    await expectStatus(
      there('GET', '/v1/workspace', { token: made.key }),
      401,
      'a read with a revoked secret key',
    )
    for (;;) {
      const asked = performance.now()
      const { status } = await check()
      if (status === 401) return
      expectSo(asked - revokedAt <= hotReuseMs, 'a revoked secret key is reused for 5 s at most')
      await sleep(50)
    }
  },

  async 'a limit is one limit'({ scene }, _here, _there, all) {
    const limits = [{ id: 'burst', limit: 10, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'tenant' }]
    const body = { project_id: scene.projectId, tenant_id: randomUUID(), env: 'live', limits }
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        expectStatus(
          (all[i % all.length] as Ask)('POST', '/v1/ratelimit/check', { token: scene.live, body }),
          200,
          'check',
        ),
      ),
    )
    const allowed = answers.filter(answer => answer.allowed).length
    expectSo(allowed === 10, `${allowed} of 30 checks at once through all processes are allowed, not 10`)
  },

  async 'one claim executes, and its answer is replayed by another'({ scene }, here, there, all) {
    const record = { scope_hash: randomBytes(32).toString('hex'), env: 'live' }
    const claim = (ask: Ask) =>
      expectStatus(
        ask('POST', '/v1/idempotency/claim', {
          token: scene.live,
          body: { ...record, fingerprint: '0'.repeat(64) },
        }),
        200,
        'claim',
      )
    const verdicts = await Promise.all(
      Array.from({ length: 12 }, (_, i) => claim(all[i % all.length] as Ask)),
    )
    const winners = verdicts.filter(({ verdict }) => verdict === 'execute')
    expectSo(winners.length === 1, `${winners.length} of 12 claims at once execute, not 1`)
    const body = { ...record, lock_token: winners[0]?.lock_token, status: 201, body: 'b2s=' }
    await expectStatus(here('POST', '/v1/idempotency/complete', { token: scene.live, body }), 200, 'complete')
    expectSo((await claim(there)).verdict === 'replay', 'the answer is replayed by another process')
  },

  async 'one of simultaneous creations with one Idempotency-Key is made'({ scene }, _here, _there, all) {
    const create = (ask: Ask) =>
      expectStatus(
        ask('POST', '/v1/tenants', {
          token: scene.live,
          headers: { 'idempotency-key': key },
          body: { external_id: key },
        }),
        201,
        'create',
      )
    const key = randomUUID()
    const made = await Promise.all(all.map(create))
    expectSo(new Set(made.map(({ id }) => id)).size === 1, 'all are answered with one tenant')
  },

  async 'a session is one session, and ends everywhere'({ query, scene }, here, there) {
    const { token, userId, sessionId } = await makePerson(query, {
      workspaceId: scene.workspaceId,
      role: 'admin',
    })
    const other = await openSession(query, userId, scene.workspaceId)
    for (const ask of [here, there])
      await expectStatus(ask('GET', '/v1/workspace', { token: other.token }), 200, 'read')
    await expectStatus(here('DELETE', `/v1/auth/sessions/${other.sessionId}`, { token }), 200, 'end')
    await expectStatus(there('GET', '/v1/auth/me', { token: other.token }), 401, 'an ended session')
    await expectStatus(there('DELETE', '/v1/auth/sessions/current', { token }), 200, `end of ${sessionId}`)
    await expectStatus(here('GET', '/v1/auth/me', { token }), 401, 'an ended session')
  },

  async 'a removed member is out everywhere'({ query, scene }, here, there) {
    const { live, workspaceId } = scene
    const { token, userId } = await makePerson(query, { workspaceId, role: 'member' })
    const change = (role: string) =>
      expectStatus(here('PATCH', `/v1/members/${userId}`, { token: live, body: { role } }), 200, 'role')
    const create = () => there('POST', '/v1/tenants', { token, body: { external_id: randomUUID() } })
    await expectStatus(create(), 403, 'a member')
    await change('admin')
    await expectStatus(create(), 201, 'an admin')
    await expectStatus(here('DELETE', `/v1/members/${userId}`, { token: live }), 200, 'removal')
    await expectStatus(create(), 403, 'a removed admin')
  },

  async 'an embed token is known everywhere, and dead everywhere once its tenant’s are revoked'(
    { scene },
    here,
    there,
  ) {
    const { live: token, projectId: project_id } = scene
    const tenant = await expectStatus(
      here('POST', '/v1/tenants', { token, body: { external_id: randomUUID() } }),
      201,
      'tenant',
    )
    const body = { project_id, tenant_id: tenant.id, env: 'live', scopes: ['keys:read', 'keys:write'] }
    const { token: embed } = await expectStatus(
      here('POST', '/v1/embed_tokens', { token, body }),
      201,
      'mint',
    )
    for (const ask of [here, there])
      await expectStatus(
        ask('POST', '/v1/embed/keys', { token: embed, body: {} }),
        201,
        'a key by embed token',
      )
    await expectStatus(here('POST', `/v1/tenants/${tenant.id}/embed_tokens/revoke`, { token }), 200, 'revoke')
    await expectStatus(
      there('GET', '/v1/embed/keys', { token: embed }),
      401,
      'an embed token of an old epoch',
    )
  },

  async 'usage is counted once, at any process'({ scene }, here, there, all) {
    const { live: token } = scene
    const key = await issueKey({ ask: plainly({ ask: here, close() {} }) }, scene)
    const hour = new Date().toISOString()
    const report = { report_id: randomUUID(), sample_rate: 1, records: [{ key_id: key.id, hour, count: 7 }] }
    await Promise.all(
      all.map(ask => expectStatus(ask('POST', '/v1/usage/reports', { token, body: report }), 202, 'report')),
    )
    const { total } = await expectStatus(
      there('GET', `/v1/keys/${key.id}/usage?days=2`, { token }),
      200,
      'usage',
    )
    expectSo(total === 7, `a report sent to every process is counted once: 7, not ${total}`)
  },

  async 'an invitation admits one, at any process'({ query, scene }, here, _there, all) {
    const { token } = await makeInvite({ ask: plainly({ ask: here, close() {} }) }, scene)
    const people: MadePerson[] = []
    for (const _ of all) people.push(await makePerson(query))
    const answers = await Promise.all(
      all.map((ask, i) =>
        ask('POST', '/v1/auth/invites/accept', { token: people[i]?.token ?? '', body: { token } }),
      ),
    )
    const joined = answers.filter(({ status }) => status === 200).length
    expectSo(joined === 1, `${joined} of ${all.length} simultaneous acceptances join, not 1`)
  },
}

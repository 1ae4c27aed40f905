import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { makeDatabase, testCluster } from '../test/database.ts'
import { encryptionKey } from '../test/encryption-key.ts'
import { bootstrapToken } from '../test/harness.ts'
import { ask as askOnce } from '../test/installation.ts'
import type { AskApi } from '../test/mutations.ts'
import { until } from '../test/until.ts'
import { makeScene } from '../test/vendor.ts'
import { readConfig } from './config.ts'
import { type Service, startService } from './main.ts'
import { createLog } from './platform/observe/log.ts'

describe('a service that closes', async () => {
  const database = await makeDatabase(testCluster())
  after(() => database.drop())
  const { config } = readConfig({
    SERVICE_PORT: '0',
    SERVICE_ENCRYPTION_KEY: encryptionKey,
    SERVICE_BOOTSTRAP_TOKEN: bootstrapToken,
  })
  const start = () =>
    startService({ config, log: createLog('silent'), connection: { ...database.connection } })
  const askOf =
    ({ url }: Service): AskApi =>
    async (method, path, { token, body, headers } = {}) => {
      const response = await fetch(url + path, {
        method,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: await response.json() }
    }

  /** A key that one of two services is asked to revoke, while a node has not heard of it. */
  async function revokeBehind(service: Service) {
    const ask = askOf(service)
    const { live, projectId, tenantId } = await makeScene(ask, bootstrapToken)
    const poll = (since: number) => `/v1/policy/delta?project_id=${projectId}&node=one&since=${since}`
    const key = await ask('POST', '/v1/keys', {
      token: live,
      body: { project_id: projectId, tenant_id: tenantId, env: 'live' },
    })
    const { version } = (await ask('GET', poll(0), { token: live })).body
    await ask('GET', poll(version), { token: live })
    const revoked = ask('POST', `/v1/keys/${key.body.id}/revoke?wait=true`, { token: live, body: {} })
    const isRaised = async () => (await ask('GET', poll(version), { token: live })).body.version > version
    await until(isRaised, 'the key is revoked')
    return { live, poll, version, revoked }
  }

  test('still listens while a revocation waits for a node, which then acknowledges elsewhere', async () => {
    const [stopping, other] = [await start(), await start()]
    const { live, poll, version, revoked } = await revokeBehind(stopping)
    const closed = stopping.close()
    const readiness = await askOnce(`${stopping.url}/readyz`)
    assert.equal(readiness?.status, 503)
    const changes = await askOf(other)('GET', poll(version), { token: live })
    await askOf(other)('GET', poll(changes.body.version), { token: live })
    const { status, body } = await revoked
    assert.deepEqual(
      [status, body.propagation.acknowledged, body.propagation.nodes_acknowledged],
      [200, true, 1],
    )
    await closed
    assert.equal(await askOnce(`${stopping.url}/healthz`), null)
    await other.close()
  })

  test('answers a poll that it holds only once no other can come to it', async () => {
    const service = await start()
    const { live, poll, version, revoked } = await revokeBehind(service)
    const newest = (await askOf(service)('GET', poll(version), { token: live })).body.version
    await askOf(service)('GET', poll(newest), { token: live })
    await revoked
    const held = askOf(service)('GET', poll(newest), { token: live, headers: { prefer: 'wait=30' } })
    await until(() => service.deps.policy.watch.held().all === 1)
    const closed = service.close()
    assert.deepEqual((await held).body.changes, [])
    assert.equal(await askOnce(`${service.url}/healthz`), null)
    await closed
  })

  test('that is hurried waits for no node', async () => {
    const service = await start()
    const { revoked } = await revokeBehind(service)
    revoked.catch(() => {})
    const closed = service.close()
    service.hurry()
    await closed
    assert.equal(await askOnce(`${service.url}/healthz`), null)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issueKey } from '../../server/test/vendor.ts'
import { createKeyring } from '../src/keyring/keyring.ts'
import { startKeyrail } from './service.ts'

/** Nodes of the SDK that stop, on the real service. */

const { settings, service, vendor } = await startKeyrail()
const ask = async (method: 'GET' | 'POST', path: string) =>
  (await service.ask(method, path, { token: vendor.live })).body

test('a revocation waits for the servers that run, and for none that has closed', async () => {
  const key = await issueKey(service, vendor)
  const [stays, leaves] = [createKeyring(settings), createKeyring(settings)]
  await Promise.all([stays.ready(), leaves.ready()])
  assert.equal(leaves.verify(key.key).code, 'valid')
  await leaves.close()
  assert.equal(leaves.verify(key.key).code, 'not_ready')
  const { data } = await ask('GET', `/v1/projects/${vendor.projectId}/nodes`)
  assert.deepEqual(
    data.map(({ node }: { node: string }) => node),
    [stays.stats().node],
  )
  const { propagation } = await ask('POST', `/v1/keys/${key.id}/revoke?wait=true`)
  assert.deepEqual([propagation.acknowledged, propagation.nodes], [true, 1])
  assert.equal(stays.verify(key.key).code, 'revoked_key')

  await stays.close()
  const other = await issueKey(service, vendor)
  const paused = await ask('POST', `/v1/keys/${other.id}/disable?wait=true`)
  assert.deepEqual([paused.propagation.acknowledged, paused.propagation.nodes], [true, 0])
})

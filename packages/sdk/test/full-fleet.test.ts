import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { figuresFrom } from '../../server/test/figures.ts'
import { createAdmin } from '../src/admin.ts'
import { createKeyring } from '../src/keyring/keyring.ts'
import type { KeyringOptions } from '../src/keyring/options.ts'
import type { KeyrailError } from '../src/runtime/errors.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

/** A fleet that outgrows its limit while it runs, and is then restarted, against the real service. */

const { service, settings, connection, issue, vendor } = await startKeyrail()
const figures = figuresFrom(service.deps.metrics)
const admin = createAdmin(connection)

function open(options: Partial<KeyringOptions>) {
  const errors: KeyrailError[] = []
  const keyring = createKeyring({
    ...settings,
    pollIntervalMs: 100,
    // So short that the service holds no answer, which would delay closing.
    cachedTtlMs: 10_000,
    maxCachedKeys: 10,
    onError: error => errors.push(error),
    ...options,
  })
  after(() => keyring.close())
  return { keyring, errors }
}

async function seen() {
  const overview = await service.ask('GET', '/v1/overview', { token: vendor.live })
  const nodes = []
  for await (const { node, heldKeys, heldKeysMax } of admin.projects.nodes(vendor.projectId))
    nodes.push([node, heldKeys, heldKeysMax])
  return {
    nodes,
    full: overview.body.needs_attention.nodes_full.count,
    figure: (await figures('keyrail_nodes{state="full"}'))[0],
  }
}

test('a fleet is said to be full before it refuses keys, and starts again with `memory`', async () => {
  const keys: string[] = []
  const grow = async (count: number) => {
    for (let number = 0; number < count; number++) keys.push((await issue()).key)
  }
  await grow(7)
  const { keyring, errors } = open({ maxAutoCachedKeys: 10, node: 'api-1' })
  await keyring.ready()
  assert.deepEqual([(await seen()).full, errors.length], [0, 0])

  await grow(1)
  await until(() => errors.length > 0, 'the node says that it is nearly full')
  assert.equal(errors[0]?.code, 'nearly_full')
  await until(async () => (await seen()).full === 1, 'the service says so')
  assert.deepEqual(await seen(), { nodes: [['api-1', 8, 10]], full: 1, figure: 1 })

  await grow(3)
  await until(() => errors.some(({ code }) => code === 'policy_scope_too_large'), 'a key does not fit')
  const refused = (node: typeof keyring) => keys.filter(key => node.verify(key).code !== 'valid').length
  assert.equal(refused(keyring), 1)

  const { keyring: restarted } = open({ maxAutoCachedKeys: 10, node: 'api-2' })
  await assert.rejects(restarted.ready(), { code: 'policy_scope_too_large' })
  const { keyring: roomy } = open({ maxAutoCachedKeys: 'memory', node: 'api-3' })
  await roomy.ready()
  assert.equal(refused(roomy), 0)
})

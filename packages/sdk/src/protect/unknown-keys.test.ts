import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { id } from '../../test/keys.ts'
import { acme, BEGAN, openUnknownKeys } from '../../test/unknown-keys-stage.ts'
import { digestOf } from '../runtime/digest.ts'
import { passing } from '../runtime/errors.ts'
import { Networks } from '../store/networks.ts'

test('a key that the own check accepts is imported, and judged by what the feed brings', async () => {
  const node = openUnknownKeys(async key => (key === 'old' ? acme : null))
  const { key } = await node.admit('old', ['orders:read'])
  assert.deepEqual([key?.keyId, key?.tenantId, key?.scopes], [id(1), id(2), ['orders:read']])
  assert.equal(await node.code('old', ['orders:write']), 'insufficient_scope')
  assert.equal(await node.code('old'), 'valid')
  assert.deepEqual([node.world.asked, node.sent.length, node.errors], [1, 1, []])
  assert.deepEqual([node.sent[0]?.digest, node.sent[0]?.customer.externalId], [digestOf('old'), 'acme'])
})

test('what the feed says of a key that arrives decides, also in the request that imports it', async () => {
  const refusing: [string, (node: ReturnType<typeof openUnknownKeys>) => void][] = [
    ['insufficient_scope', node => node.bring({ scopes: [] })],
    ['expired_key', node => node.bring({ expiresAt: BEGAN })],
    ['ip_unknown', node => node.bring({ networks: Networks.read(['203.0.113.0/24']) })],
    ['wrong_env', node => node.bring({ env: 'test' })],
    [
      'suspended_tenant',
      node => {
        node.store.setSuspended(id(2), true)
        node.bring()
      },
    ],
  ]
  for (const [why, bring] of refusing) {
    const node = openUnknownKeys(async () => acme)
    node.world.brings = false
    const first = node.code('old', ['orders:read'])
    await turn()
    bring(node)
    assert.equal(await first, why)
  }
})

test('a request waits 2 s for its key, until a poll brings it', async () => {
  const node = openUnknownKeys(async () => acme)
  node.world.brings = false
  const first = node.code('old')
  await turn()
  await node.clock.pass(1_999)
  node.unknownKeys.polled()
  node.bring()
  assert.equal(await first, 'valid')

  const late = node.code('later')
  await turn()
  await node.clock.pass(1_999)
  node.unknownKeys.polled()
  await node.clock.pass(1)
  assert.equal(await late, 'not_held')
  assert.equal(await node.code('later'), 'not_held')
  assert.equal(node.world.asked, 2)
  // Nobody waits any more, so a poll looks for nothing.
  const { find } = node.store
  node.store.find = () => assert.fail('looked up')
  node.unknownKeys.polled()
  node.store.find = find
  node.bring()
  assert.equal(await node.code('later'), 'valid')
  assert.deepEqual([node.world.asked, node.errors], [2, []])
})

test('a key that the service does not call active is refused, and remembered for 60 s', async () => {
  const node = openUnknownKeys(async () => acme)
  node.world.answer = async () => ({ isActive: false })
  assert.equal(await node.code('old'), 'malformed_key')
  await node.clock.pass(59_999)
  assert.equal(await node.code('old'), 'malformed_key')
  assert.deepEqual([node.world.asked, node.sent.length, node.errors], [1, 1, []])
  await node.clock.pass(1)
  assert.equal(await node.code('old'), 'malformed_key')
  assert.deepEqual([node.world.asked, node.sent.length], [2, 2])
})

test('a customer that the service does not take is refused and reported without the key', async () => {
  const node = openUnknownKeys(async () => acme)
  node.world.answer = async () => ({ isActive: false, faults: 'scopes.0 is unknown' })
  assert.equal(await node.code('the-old-key'), 'malformed_key')
  assert.equal(await node.code('the-old-key'), 'malformed_key')
  assert.deepEqual([node.codes(), node.world.asked], [['own_check_failed'], 1])
  const [{ message } = { message: '' }] = node.errors
  assert.match(message, /scopes\.0 is unknown/)
  assert.doesNotMatch(message, /the-old-key/)
})

test('while the service is away no unknown key passes, and its check runs again after 5 s', async () => {
  const node = openUnknownKeys(async () => acme)
  const works = node.world.answer
  node.world.answer = async () => {
    throw passing('network_error', 'away')
  }
  const { refusal } = await node.admit('old')
  assert.deepEqual([refusal?.status, node.codes()], [503, ['network_error']])
  assert.equal(await node.code('old'), 'not_held')
  await node.clock.pass(4_999)
  assert.equal(await node.code('old'), 'not_held')
  assert.deepEqual([node.world.asked, node.sent.length], [1, 1])
  node.world.answer = works
  await node.clock.pass(1)
  assert.equal(await node.code('old'), 'valid')
  assert.deepEqual([node.world.asked, node.sent.length], [2, 2])
})

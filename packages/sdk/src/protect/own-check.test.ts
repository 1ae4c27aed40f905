import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { drawKey, id } from '../../test/keys.ts'
import { acme, openUnknownKeys, storedKey } from '../../test/unknown-keys-stage.ts'
import { digestOf } from '../runtime/digest.ts'
import { EndedKeys } from '../verify/ended-keys.ts'

test('the own check is asked about unknown and malformed visible texts, and about no other', async () => {
  const node = openUnknownKeys(async () => null)
  for (const key of ['a b', '~'.repeat(513), 'ключ']) assert.equal(await node.code(key), 'malformed_key')
  assert.equal(node.world.asked, 0)
  assert.equal(await node.code('~'.repeat(512)), 'malformed_key')
  node.store.setAcceptsImported(true)
  assert.equal(await node.code('another'), 'unknown_key')
  assert.equal(node.world.asked, 2)
  node.served.store = undefined
  assert.equal(await node.code('third'), 'not_ready')
  node.served.store = node.store
  await node.clock.pass(3_600_000)
  assert.equal(await node.code('third'), 'stale')
  node.store.setAcceptsImported(false)
  assert.equal(await node.code('third'), 'stale')
  assert.equal(node.world.asked, 2)
})

test('the own check is not asked about a key that the node has seen end', async () => {
  const node = openUnknownKeys(async () => acme)
  node.served.ended = new EndedKeys()
  assert.equal(await node.code('old'), 'valid')
  node.store.remove(id(1), digestOf('old'))
  node.served.ended.addCause(digestOf('old'), 'revoked')
  assert.equal(await node.code('old'), 'revoked_key')
  assert.equal(node.world.asked, 1)
})

test('a refusal is remembered for 60 s, for the 10,000 latest keys', async () => {
  const node = openUnknownKeys(async () => null)
  assert.equal(await node.code('old'), 'malformed_key')
  await node.code('other')
  await node.clock.pass(59_999)
  assert.equal(await node.code('old'), 'malformed_key')
  assert.equal(node.world.asked, 2)
  await node.clock.pass(1)
  assert.equal(await node.code('old'), 'malformed_key')
  assert.equal(node.world.asked, 3)
  for (let at = 0; at < 9_999; at++) await node.code(`key-${at}`)
  await node.code('old')
  assert.equal(node.world.asked, 3 + 9_999)
  await node.code('another')
  await node.code('old')
  assert.equal(node.world.asked, 3 + 9_999 + 2)
})

test('requests with one key share check and import; beyond 64 keys, held ones alone pass', async () => {
  const ends: (() => void)[] = []
  const node = openUnknownKeys(() => new Promise(resolve => ends.push(() => resolve(acme))))
  node.store.setAcceptsImported(true)
  node.store.upsert({ ...storedKey, keyId: id(1_000), digest: digestOf('held') })
  const first = [node.code('key-0'), node.code('key-0')]
  const others = Array.from({ length: 63 }, (_, at) => node.code(`key-${at + 1}`))
  await turn()
  assert.equal(node.world.asked, 64)
  const { refusal } = await node.admit('key-64')
  assert.equal(refusal?.status, 503)
  assert.match(
    JSON.stringify(refusal?.body),
    /too many such keys are being checked at once","code":"not_held"/,
  )
  assert.equal(await node.code('held'), 'valid')
  for (const end of ends) end()
  for (const each of await Promise.all([...first, ...others])) assert.equal(each, 'valid')
  assert.equal(node.sent.length, 64)
  const late = node.code('key-64')
  await turn()
  ends.at(-1)?.()
  assert.equal(await late, 'valid')
})

test('a check of more than 5 s answers 503, and what it returns counts for a later request', async () => {
  let end = (_: typeof acme) => {}
  const node = openUnknownKeys(() => new Promise(resolve => (end = resolve)))
  const first = node.admit('old')
  await turn()
  await node.clock.pass(4_000)
  const second = node.code('old')
  await turn()
  await node.clock.pass(1_000)
  const { refusal } = await first
  assert.equal(refusal?.status, 503)
  assert.match(JSON.stringify(refusal?.body), /could not be checked","code":"not_held"/)
  assert.equal(await second, 'not_held')
  // At once: no request waits for a check that is late.
  assert.equal(await node.code('old'), 'not_held')
  assert.deepEqual([node.world.asked, node.sent.length], [1, 0])
  end(acme)
  await turn()
  assert.equal(await node.code('old'), 'valid')
  assert.deepEqual([node.world.asked, node.errors], [1, []])
})

test('a late check that refuses is remembered as any other', async () => {
  let end = (_: null) => {}
  const node = openUnknownKeys(() => new Promise(resolve => (end = resolve)))
  const first = node.code('old')
  await turn()
  await node.clock.pass(5_000)
  assert.equal(await first, 'not_held')
  end(null)
  await turn()
  assert.equal(await node.code('old'), 'malformed_key')
  assert.equal(node.world.asked, 1)
})

test('a check that never ends keeps its place and its key, however long', async () => {
  const ends: (() => void)[] = []
  const node = openUnknownKeys(() => new Promise(resolve => ends.push(() => resolve(null))))
  const all = Array.from({ length: 64 }, (_, at) => node.code(`key-${at}`))
  await turn()
  await node.clock.pass(4_999)
  assert.equal(await node.code('late'), 'not_held')
  assert.deepEqual(node.codes(), [])
  await node.clock.pass(1)
  assert.deepEqual(new Set(await Promise.all(all)), new Set(['not_held']))
  for (let minute = 0; minute < 3; minute++) {
    await node.clock.pass(60_000)
    for (const key of ['key-0', 'late', 'later']) assert.equal(await node.code(key), 'not_held')
  }
  assert.equal(node.world.asked, 64)
  // Told once, not per request.
  assert.deepEqual(node.codes(), ['own_check_failed'])
  assert.match(node.errors[0]?.message ?? '', /^64 calls of onUnknownKey have not ended after 5,000 ms/)
  ends[0]?.()
  await turn()
  assert.equal(await node.code('key-0'), 'malformed_key')
  const late = node.code('late')
  await turn()
  assert.equal(node.world.asked, 65)
  assert.equal(await node.code('later'), 'not_held')
  ends[64]?.()
  assert.equal(await late, 'malformed_key')
  assert.deepEqual(node.codes(), ['own_check_failed'])
})

test('after a recovery, checks that hang anew are told anew', async () => {
  const ends: (() => void)[] = []
  const node = openUnknownKeys(() => new Promise(resolve => ends.push(() => resolve(null))))
  for (const told of [1, 2]) {
    const all = Array.from({ length: 64 }, (_, at) => node.code(`${told}-${at}`))
    await turn()
    await node.clock.pass(5_000)
    await Promise.all(all)
    assert.equal(await node.code('late'), 'not_held')
    assert.equal(node.errors.length, told)
    for (const end of ends.splice(0)) end()
    await turn()
  }
})

test('a check that throws, or returns no customer, answers 503 for 5 s and is reported', async () => {
  const odd: unknown[] = [
    7,
    {},
    { tenantId: id(1), externalId: 'a' },
    { externalId: 'a', scopes: 'all' },
    { externalId: 'a', expiresAt: 1e300 },
  ]
  for (const given of odd) {
    const node = openUnknownKeys(async () => given as never)
    const { refusal } = await node.admit('old')
    assert.equal(refusal?.status, 503)
    assert.match(JSON.stringify(refusal?.body), /could not be checked","code":"not_held"/)
    assert.deepEqual([node.codes(), node.sent], [['own_check_failed'], []])
  }
  const node = openUnknownKeys(() => {
    if (node.world.asked < 3) throw new Error('the key is old')
    return Promise.resolve(acme)
  })
  assert.equal(await node.code('old'), 'not_held')
  await node.clock.pass(4_999)
  assert.equal(await node.code('old'), 'not_held')
  assert.deepEqual([node.codes(), node.world.asked], [['own_check_failed'], 1])
  await node.clock.pass(1)
  assert.equal(await node.code('old'), 'not_held')
  assert.deepEqual([node.codes(), node.world.asked], [['own_check_failed', 'own_check_failed'], 2])
  for (const { message } of node.errors) assert.doesNotMatch(message, /the key is old/)
  await node.clock.pass(5_000)
  assert.equal(await node.code('old'), 'valid')
})

test('a key of the form of Keyrail is imported into the environment of its text', async () => {
  const [live, test] = [drawKey(), drawKey('kr_test')]
  const both = openUnknownKeys(async () => acme, 'both')
  for (const key of [live, test, 'old']) assert.equal(await both.code(key), 'valid')
  assert.deepEqual(
    both.sent.map(({ env }) => env),
    ['live', 'test', undefined],
  )
  assert.deepEqual([(await both.admit(live)).key?.env, (await both.admit(test)).key?.env], ['live', 'test'])
  for (const [env, other] of [
    ['live', test],
    ['test', live],
  ] as const) {
    const node = openUnknownKeys(async () => acme, env)
    assert.equal(await node.code(other), 'wrong_env')
    assert.equal(node.world.asked, 0)
  }
})

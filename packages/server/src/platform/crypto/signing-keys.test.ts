import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import { after, test } from 'node:test'
import type pg from 'pg'
import { encryptionKeys } from '../../../test/encryption-key.ts'
import { startHarness } from '../../../test/harness.ts'
import { patientBudgets } from '../../../test/stores.ts'
import { openEmbedTokens, tokenLifeS } from '../../embed/signed-token.ts'
import type { EmbedClaims } from '../../gate/authenticate-embed.ts'
import { serviceBudgets } from '../budgets.ts'
import { connect } from '../db/connection.ts'
import {
  addSigningKey,
  keptAfterS,
  pruneSigningKeys,
  publishedBeforeS,
  readAgainS,
  rotateSigningKeys,
  signsForS,
} from '../db/sealed/signing-keys.ts'
import { openSealing } from './sealing.ts'
import { isSigningPem, makeSigningKey, openSigningKeys } from './signing-keys.ts'

const harness = await startHarness()
const { connection, query } = harness
const sealing = openSealing(encryptionKeys, randomBytes)
const store = { connection, sealing, plainForS: 0, requestMs: patientBudgets.requestMs }
const issuer = 'https://keys.example.com'
const maxAgeS = 300

/** A separate process. Its clock equals the database's, and both stand still until the test moves them. */
let moment = Date.parse('2031-01-01T00:00:00Z')
const begin = moment
await harness.setStoreTime(new Date(moment))
async function pass(seconds: number): Promise<void> {
  moment += seconds * 1_000
  await harness.setStoreTime(new Date(moment))
}
const clock = { now: () => moment, monotonic: () => moment - begin }
const openProcess = (pem: string | null = null) => {
  const keys = openSigningKeys(store, pem, clock)
  return { keys, tokens: openEmbedTokens(keys, issuer, clock) }
}
const rotate = async () => await addSigningKey(store, await makeSigningKey())
const claims: EmbedClaims = {
  id: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11',
  workspaceId: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d12',
  tenantId: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d13',
  projectId: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d14',
  mintedBy: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d15',
  env: 'live',
  scopes: ['keys:read'],
  origins: ['https://app.example.com'],
  epoch: 7,
  issuedAt: 1,
  expiresAt: 301,
}
const kidOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
const published = async ({ keys }: ReturnType<typeof openProcess>) =>
  (await keys.published()).keys.map(({ kid }) => kid)

test('of processes that start at the same moment one makes the first key, which all use', async () => {
  const processes = Array.from({ length: 5 }, () => openProcess())
  const tokens = await Promise.all(processes.map(({ tokens }) => tokens.mint(claims)))
  assert.equal(new Set(tokens.map(kidOf)).size, 1)
  assert.equal((await query('select from signing_keys')).length, 1)
  for (const { tokens: there } of processes)
    for (const token of tokens) assert.deepEqual(await there.verify(token), claims)
})

test('only the public half of a key is published, under its thumbprint', async () => {
  const { keys } = await openProcess().keys.published()
  for (const key of keys) {
    assert.deepEqual(Object.keys(key).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    assert.ok(createPublicKey({ key, format: 'jwk' }))
  }
  const { calculateJwkThumbprint } = await import('jose')
  for (const key of keys) assert.equal(await calculateJwkThumbprint(key), key.kid)
})

test('a token of another issuer is refused, even with the same key', async () => {
  const { keys } = openProcess()
  const token = await openEmbedTokens(keys, 'https://elsewhere.example', clock).mint(claims)
  assert.equal(await openEmbedTokens(keys, issuer, clock).verify(token), null)
})

test('a new key signs once caches of the published set have expired, in every process', async () => {
  const [one, two] = [openProcess(), openProcess()]
  const old = kidOf(await one.tokens.mint(claims))
  await two.tokens.mint(claims)
  const rotation = await rotate()
  assert.equal(rotation.kind, 'rotated')
  assert.ok(publishedBeforeS >= maxAgeS + readAgainS)
  assert.equal((await rotate()).kind, 'waiting', 'and no other key meanwhile')

  // A client that took the set just before this process knew the key may keep it for this long.
  await pass(readAgainS)
  for (const process of [one, two]) assert.deepEqual(await published(process), [old, rotation.kid])
  await pass(publishedBeforeS - readAgainS - 0.001)
  for (const { tokens } of [one, two]) assert.equal(kidOf(await tokens.mint(claims)), old)
  await pass(0.001)
  for (const { tokens } of [one, two]) assert.equal(kidOf(await tokens.mint(claims)), rotation.kid)
})

test('the old key verifies as long as anything that it has signed may live, and no longer', async () => {
  const [one, two] = [openProcess(), openProcess()]
  const old = await one.tokens.mint(claims)
  await rotate()
  await pass(publishedBeforeS - 1)
  const last = await one.tokens.mint(claims)
  assert.equal(kidOf(last), kidOf(old))
  await pass(1)
  assert.notEqual(kidOf(await one.tokens.mint(claims)), kidOf(last))
  assert.ok(keptAfterS >= tokenLifeS + maxAgeS)
  await pass(keptAfterS - 1)
  for (const process of [one, two]) {
    assert.deepEqual(await process.tokens.verify(last), claims)
    assert.ok((await published(process)).includes(kidOf(old)))
  }
  await pass(1)
  for (const process of [one, two]) {
    assert.equal(await process.tokens.verify(old), null)
    assert.ok(!(await published(process)).includes(kidOf(old)))
  }
})

test('only keys that verify nothing any more are removed', async () => {
  const client = await connect(connection, 'upkeep', false)
  after(() => client.end())
  await rotate()
  await pass(publishedBeforeS + keptAfterS)
  const before = await query('select kid from signing_keys order by signs_from')
  await pruneSigningKeys.run(client)
  const left = await query('select kid from signing_keys order by signs_from')
  assert.deepEqual(left, before.slice(-2), 'the moment itself still counts')
  await pass(1)
  await pruneSigningKeys.run(client)
  assert.equal((await query('select from signing_keys')).length, 1)
})

test('a process that was asleep reads the keys before it signs', async () => {
  const process = openProcess()
  const old = kidOf(await process.tokens.mint(claims))
  await rotate()
  await pass(publishedBeforeS + 1)
  assert.notEqual(kidOf(await process.tokens.mint(claims)), old)
})

test('a process accepts tokens of one that knows a newer key', async () => {
  const [one, two] = [openProcess(), openProcess()]
  await one.tokens.mint(claims)
  await query('delete from signing_keys')
  const token = await two.tokens.mint(claims)
  await pass(2)
  assert.deepEqual(await one.tokens.verify(token), claims)
})

test('a set that is too old is not used while the database is away', async () => {
  const away = { ...connection, host: '/nowhere' } as pg.ClientConfig
  let target = connection
  const keys = openSigningKeys(
    {
      ...store,
      get connection() {
        return target
      },
    },
    null,
    clock,
  )
  const { kid } = await keys.signer()
  target = away
  await pass(readAgainS - 1)
  assert.equal((await keys.signer()).kid, kid)
  await pass(1)
  await assert.rejects(keys.signer(), { code: 'unavailable' })
  target = connection
  assert.equal((await keys.signer()).kid, kid)
})

test('a database that accepts connections and says nothing is unavailable within a request', async () => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const { port } = server.address() as AddressInfo
  const silent = { host: '127.0.0.1', port, user: 'x', database: 'x' }
  const keys = openSigningKeys({ ...store, ...serviceBudgets, connection: silent }, null, clock)
  await assert.rejects(keys.published(), { code: 'unavailable' })
})

test('keys from a file: the first signs, all verify, and the database is not used', async () => {
  const make = (type: 'pkcs8' | 'sec1') =>
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type }) as string
  const [first, second] = [make('pkcs8'), make('sec1')]
  const nowhere = { ...store, connection: { host: '/nowhere' } }
  const open = (pem: string) => openEmbedTokens(openSigningKeys(nowhere, pem, clock), issuer, clock)
  const [now, before, after] = [open(first + second), open(first), open(second + first)]
  assert.equal((await now.published()).keys.length, 2)
  const token = await now.mint(claims)
  assert.deepEqual(await before.verify(token), claims)
  assert.deepEqual(await after.verify(token), claims)
  assert.deepEqual(await now.verify(await after.mint(claims)), claims)
  assert.equal(await before.verify(await after.mint(claims)), null)
})

test('a file must have P-256 private keys and nothing else', () => {
  const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  const ed = generateKeyPairSync('ed25519').privateKey
  const pem = (key: typeof p384) => key.export({ format: 'pem', type: 'pkcs8' }) as string
  assert.equal(isSigningPem(pem(p256.privateKey)), true)
  for (const bad of [
    '',
    'x',
    pem(p384),
    pem(ed),
    pem(p256.privateKey) + pem(p384),
    p256.publicKey.export({ format: 'pem', type: 'spki' }) as string,
    pem(p256.privateKey).replace('M', '!'),
  ])
    assert.equal(isSigningPem(bad), false)
})

test('after 30 days one process makes the successor of a key, and all tokens stay valid', async () => {
  await query('truncate signing_keys')
  const processes = [openProcess(), openProcess()]
  const [one, two] = processes as [(typeof processes)[0], (typeof processes)[0]]
  const rotateDue = async () => {
    const client = await connect(connection, 'upkeep', false)
    try {
      return await Promise.all(processes.map(() => rotateSigningKeys(store, makeSigningKey).run(client)))
    } finally {
      await client.end()
    }
  }
  const first = kidOf(await one.tokens.mint(claims))
  await pass(signsForS - 1)
  assert.deepEqual(await rotateDue(), [0, 0])
  await pass(1)
  assert.deepEqual((await rotateDue()).toSorted(), [0, 1], 'at the same moment')
  assert.deepEqual(await rotateDue(), [0, 0], 'the new one waits')

  // A client that took the published set just before the rotation may keep it for this long.
  await pass(publishedBeforeS - 1)
  const last = await two.tokens.mint(claims)
  assert.equal(kidOf(last), first)
  const [, second] = await published(one)
  await pass(1)
  assert.equal(kidOf(await two.tokens.mint(claims)), second)
  await pass(tokenLifeS)
  for (const { tokens } of processes) assert.deepEqual(await tokens.verify(last), claims)
  assert.deepEqual(await rotateDue(), [0, 0])
})

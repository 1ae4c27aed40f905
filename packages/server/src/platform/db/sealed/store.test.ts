import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { encryptionKeys } from '../../../../test/encryption-key.ts'
import { readEncryptionKeys } from '../../crypto/encryption-keys.ts'
import { UnknownKey } from '../../crypto/sealing.ts'
import { makeSigningKey } from '../../crypto/signing-keys.ts'
import { connect } from '../connection.ts'
import { countPlain, discardUnopened, keysInUse, queryOf, sealedColumns } from './columns.ts'
import { resealAll } from './reseal.ts'
import { serviceSecret } from './service-secret.ts'
import { addSigningKey, publishedBeforeS, readSigningKeys, rotateSigningKeys } from './signing-keys.ts'
import { erasePlainSecrets, openSealedStore, upgradeS } from './store.ts'

const { connection, drop } = await makeDatabase(testCluster())
const client = new pg.Client(connection)
await client.connect()
const query = queryOf(client)
after(async () => {
  await client.end()
  await drop()
})

let now = Date.parse('2031-01-01T00:00:00Z')
async function pass(seconds: number): Promise<void> {
  now += seconds * 1_000
  await client.query(`create or replace function service_now() returns timestamptz language sql stable as
    $$ select timestamptz '${new Date(now).toISOString()}' $$`)
}
beforeEach(async () => {
  await client.query('truncate service_secrets, signing_keys')
  await pass(0)
})

const otherKeys = readEncryptionKeys(randomBytes(32).toString('base64')).keys
const open = (keys = encryptionKeys, databaseUrl: string | null = 'postgres://elsewhere') =>
  openSealedStore(connection, { encryptionKeys: keys, databaseUrl }, randomBytes)
const chore = async (run: typeof erasePlainSecrets) => {
  const own = await connect(connection, 'upkeep', false)
  try {
    return await run.run(own)
  } finally {
    await own.end()
  }
}

/** The previous release's statements: it makes secrets unsealed, and reads them so. */
const before = {
  async make() {
    const secret = randomBytes(32)
    await query('insert into service_secrets (name, secret) values ($1, $2) on conflict (name) do nothing', [
      'cursor',
      secret,
    ])
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const der = privateKey.export({ format: 'der', type: 'pkcs8' })
    await query(
      'insert into signing_keys (kid, private_key, signs_from) values ($1, $2, service_now() + make_interval(secs => $3))',
      ['a'.repeat(43), der, 0],
    )
    return { secret, der }
  },
  async read() {
    const [cursor] = await query('select secret from service_secrets where name = $1', ['cursor'])
    const keys = await query('select kid, private_key from signing_keys order by signs_from, kid')
    return { secret: cursor?.secret, keys: keys.map(row => row.private_key) }
  },
}

test('secrets of the previous release are sealed, and stay readable for it for one hour', async () => {
  const { secret, der } = await before.make()
  const store = await open()
  assert.deepEqual(await before.read(), { secret, keys: [der] })
  assert.deepEqual(await serviceSecret(store, 'cursor', randomBytes), secret)
  assert.deepEqual(
    (await readSigningKeys(store, makeSigningKey)).map(key => key.privateKey),
    [der],
  )

  await pass(upgradeS - 1)
  assert.equal(await chore(erasePlainSecrets), 0)
  await open()
  assert.deepEqual(await before.read(), { secret, keys: [der] }, 'a second start does not extend the hour')
  await pass(1)
  assert.equal(await chore(erasePlainSecrets), 2)
  assert.deepEqual(await before.read(), { secret: null, keys: [null] })
  assert.deepEqual(await serviceSecret(store, 'cursor', randomBytes), secret)
  assert.deepEqual(
    (await readSigningKeys(store, makeSigningKey)).map(key => key.privateKey),
    [der],
  )
})

test('an embedded database keeps no unsealed value past the first start', async () => {
  const { secret } = await before.make()
  const store = await open(encryptionKeys, null)
  assert.equal(await countPlain(query), 0)
  assert.deepEqual(await serviceSecret(store, 'cursor', randomBytes), secret)
})

test('a secret that the previous release writes beside us is sealed when we read it', async () => {
  const store = await open()
  const { secret, der } = await before.make()
  assert.deepEqual(await serviceSecret(store, 'cursor', randomBytes), secret)
  assert.deepEqual(
    (await readSigningKeys(store, makeSigningKey)).map(key => key.privateKey),
    [der],
  )
  assert.deepEqual(await before.read(), { secret, keys: [der] })
  await pass(upgradeS)
  assert.equal(await chore(erasePlainSecrets), 2)
})

test('a new key waits until no process of the previous release could fail to read it', async () => {
  await before.make()
  const store = await open()
  await pass(31 * 86_400)
  assert.equal(await chore(rotateSigningKeys(store, makeSigningKey)), 0)
  assert.deepEqual(await addSigningKey(store, await makeSigningKey()), { kind: 'upgrading' })
  await client.query('truncate signing_keys')
  await before.make()
  await open()
  await pass(upgradeS)
  await chore(erasePlainSecrets)
  assert.equal(await chore(rotateSigningKeys(store, makeSigningKey)), 1)
  const [old, next] = await readSigningKeys(store, makeSigningKey)
  assert.deepEqual([old?.kid, next?.signsInMs], ['a'.repeat(43), publishedBeforeS * 1_000])
})

test('a fresh installation never has an unsealed value', async () => {
  const store = await open()
  await Promise.all([
    ...['cursor', 'audit_checkpoint'].map(name => serviceSecret(store, name, randomBytes)),
    readSigningKeys(store, makeSigningKey),
  ])
  await addSigningKey(store, await makeSigningKey())
  assert.equal(await countPlain(query), 0)
  const [used, ...more] = await keysInUse(query)
  assert.deepEqual([used, more], [{ keyId: encryptionKeys[0]?.id, values: 4 }, []])
})

test('of processes that ask at the same moment one makes the secret, and all get it', async () => {
  const store = await open()
  const asked = await Promise.all(
    Array.from({ length: 5 }, () => serviceSecret(store, 'cursor', randomBytes)),
  )
  assert.equal(new Set(asked.map(secret => secret.toString('hex'))).size, 1)
})

test('a wrong key is refused at the start by its id, and no new secret is made', async () => {
  await serviceSecret(await open(), 'cursor', randomBytes)
  const held = await query('select * from service_secrets')
  await assert.rejects(
    open(otherKeys),
    error =>
      error instanceof UnknownKey &&
      error.message.includes(encryptionKeys[0]?.id ?? '?') &&
      error.message.includes(otherKeys[0]?.id ?? '?'),
  )
  assert.deepEqual(await query('select * from service_secrets'), held)
})

test('a rotation reseals all with the first key, resumes if interrupted, and keeps secrets', async () => {
  const store = await open()
  const names = Array.from({ length: 250 }, (_, i) => `secret ${i}`)
  const secrets = await Promise.all(names.slice(0, 5).map(name => serviceSecret(store, name, randomBytes)))
  for (const name of names.slice(5))
    await query('insert into service_secrets (name, sealed) values ($1, $2)', [
      name,
      store.sealing.seal({ table: 'service_secrets', column: 'sealed', row: name }, randomBytes(32)),
    ])
  const [key] = await readSigningKeys(store, makeSigningKey)

  const both = await open([...otherKeys, ...encryptionKeys])
  const cut = await connect(connection, 'command', false)
  const pid = Number((await cut.query('select pg_backend_pid() as pid')).rows[0].pid)
  let batches = 0
  const dying = new Proxy(cut, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name !== 'query') return typeof value === 'function' ? value.bind(target) : value
      return async (text: string, values?: unknown[]) => {
        const result = await target.query(text, values)
        if (text === 'commit' && ++batches === 2) await query('select pg_terminate_backend($1)', [pid])
        return result
      }
    },
  })
  await assert.rejects(resealAll(dying, both.sealing, () => {}))
  assert.deepEqual(
    (await keysInUse(query)).map(({ values }) => values).toSorted((a, b) => a - b),
    [51, 200],
  )
  assert.equal(await resealAll(client, both.sealing, () => {}), 51)
  assert.equal(await resealAll(client, both.sealing, () => {}), 0)
  assert.deepEqual(await keysInUse(query), [{ keyId: otherKeys[0]?.id, values: 251 }])

  const next = await open(otherKeys)
  assert.deepEqual(
    await Promise.all(names.slice(0, 5).map(name => serviceSecret(next, name, randomBytes))),
    secrets,
  )
  assert.deepEqual((await readSigningKeys(next, makeSigningKey))[0], key)
})

test('secrets that no given key opens are removed on request, and nothing else', async () => {
  await serviceSecret(await open(), 'cursor', randomBytes)
  const both = await open([...otherKeys, ...encryptionKeys])
  const kept = await serviceSecret(both, 'audit_checkpoint', randomBytes)
  assert.deepEqual(await discardUnopened(query, both.sealing.keyIds), [])
  assert.deepEqual(await discardUnopened(query, [otherKeys[0]?.id ?? '']), ['service_secrets cursor'])
  const store = await open(otherKeys)
  assert.deepEqual(await serviceSecret(store, 'audit_checkpoint', randomBytes), kept)
})

test('a rotation reseals every column whose name is sealed', async () => {
  const columns = await query(
    `select table_name as table, column_name as column from information_schema.columns
     where table_schema = 'public' and column_name like '%sealed%' order by 1, 2`,
  )
  assert.deepEqual(
    columns,
    sealedColumns.map(({ table, column }) => ({ table, column })),
  )
})

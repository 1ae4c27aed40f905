import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { connect, connectionFromUrl, fromPortable, toPortable } from './connection.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-connection-'))
after(() => rmSync(folder, { recursive: true }))
const authority = join(folder, 'ca.pem')
writeFileSync(authority, 'an authority')

test('a connection sent to a thread has the same TLS behaviour, whatever its URL says', () => {
  for (const more of [
    '',
    '?sslmode=disable',
    '?sslmode=verify-full',
    `?sslmode=verify-full&sslrootcert=${authority}`,
    `?uselibpqcompat=true&sslmode=verify-ca&sslrootcert=${authority}`,
    `?uselibpqcompat=true&sslmode=require&sslrootcert=${authority}`,
  ]) {
    const connection = connectionFromUrl(`postgres://keyrail:secret@db.example/keyrail${more}`)
    const arrived = fromPortable(structuredClone(toPortable(connection)))
    const plain = (from: typeof connection) => JSON.stringify(from)
    assert.equal(plain(arrived), plain(connection), more)
    const looksAtNoName = (from: typeof connection) =>
      typeof from.ssl === 'object' &&
      from.ssl.checkServerIdentity?.('other.example', {} as never) === undefined &&
      from.ssl.checkServerIdentity !== undefined
    assert.equal(looksAtNoName(arrived), looksAtNoName(connection), more)
  }
})

test('an ordinary role logs in through a socket with a password of every odd character', async () => {
  const database = await makeDatabase(testCluster())
  const printable = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i)).join('')
  const password = `${printable}é€`
  const role = `odd_${database.connection.database}`
  const owner = await connect(database.connection, 'test')
  await owner.query(
    `create role ${role} login nosuperuser nocreaterole password ${owner.escapeLiteral(password)}`,
  )
  const { port, database: name } = database.connection
  const host = String(database.connection.host)
  const encoded = encodeURIComponent(password)
  const logIn = async (url: string) => {
    const client = await connect(connectionFromUrl(url), 'test')
    const { rows } = await client.query(
      'select session_user as name, usesuper from pg_user where usename = user',
    )
    await client.end()
    return rows
  }
  assert.ok(host.startsWith('/'))
  for (const url of [
    `postgres://${role}:${encoded}@/${name}?host=${host}&port=${port}`,
    `postgres://${role}:${encoded}@${encodeURIComponent(host)}:${port}/${name}`,
    `postgres:///${name}?host=${host}&port=${port}&user=${role}&password=${encoded}`,
  ])
    assert.deepEqual(await logIn(url), [{ name: role, usesuper: false }], url)
  await assert.rejects(
    logIn(`postgres://${role}:${encoded}x@/${name}?host=${host}&port=${port}`),
    /password authentication failed/,
  )
  await owner.query(`drop role ${role}`)
  await owner.end()
  await database.drop()
})

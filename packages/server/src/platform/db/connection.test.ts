import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connectionFromUrl, fromPortable, toPortable } from './connection.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-connection-'))
after(() => rmSync(folder, { recursive: true }))
const authority = join(folder, 'ca.pem')
writeFileSync(authority, 'an authority')

test('a connection can be sent to a thread whatever its URL asks of TLS, and asks the same there', () => {
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

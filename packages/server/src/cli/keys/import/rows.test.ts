import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { readBatches } from './batches.ts'
import { type FormatName, formats } from './formats.ts'
import type { ImportRow, Place } from './rows.ts'
import { timeOf } from './times.ts'

/** What a record becomes: members that are odd, and files that lack something. */

const folder = mkdtempSync(join(tmpdir(), 'keyrail-rows-'))
after(() => rmSync(folder, { recursive: true }))
const now = Date.parse('2026-01-01T00:00:00Z')
const digest = 'ab'.repeat(32)

interface Given {
  readonly rows: ImportRow[]
  /** Why records give no row: why they were left out, or the faults. */
  readonly faults: string[]
  readonly goesOn: boolean
}

async function given(format: FormatName, text: string): Promise<Given> {
  const path = join(folder, 'file')
  writeFileSync(path, text)
  const place: Place = { now, env: 'live', from: null, listedAt: now, seen: null }
  const rows: ImportRow[] = []
  const faults: string[] = []
  for await (const { items } of readBatches(path, formats[format], 0, place))
    for (const item of items) {
      if ('row' in item) rows.push(item.row)
      else if ('leftOut' in item) faults.push(item.leftOut)
      else faults.push(...item.faults.map(({ message }) => message))
    }
  return { rows, faults, goesOn: place.goesOn === true }
}
const of = (format: FormatName, ...records: unknown[]) =>
  given(format, records.map(record => JSON.stringify(record)).join('\n'))

async function isFault(format: FormatName, text: string, fault: RegExp): Promise<void> {
  const { rows, faults } = await given(format, text)
  assert.deepEqual(rows, [], text)
  assert.match(faults[0] ?? '', fault, text)
}

test('a number that JSON does not keep is a fault, wherever it stands', async () => {
  const own = (more: string) => `{"digest":"${digest}",${more}}`
  await isFault('keyrail', own('"external_id":1234567890123456789'), /loses digits.*in quotes/)
  await isFault('keyrail', own('"external_id":1.5'), /in quotes/)
  await isFault('keyrail', own('"external_id":"a","source_id":98765432109876543210'), /in quotes/)
  await isFault('keyrail', own('"external_id":"a","meta":{"plan":[1234567890123456789]}'), /in quotes/)
  await isFault('keyrail', own('"external_id":{"id":1}'), /a text is needed/)
  await isFault('plain', '{"key":12345678901234567890,"external_id":"a"}', /in quotes/)
  await isFault('kong', '{"key":12345678901234567890,"consumer":{"username":"a"}}', /in quotes/)
  const { rows } = await given('keyrail', own('"external_id":1234567890,"meta":{"part":0.1}'))
  assert.deepEqual([rows[0]?.external_id, rows[0]?.meta], ['1234567890', { part: 0.1 }])
})

test('times are ISO 8601, what Postgres prints, or Unix times, and nothing else', () => {
  for (const [value, at] of [
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T09:30', '2026-01-31T09:30:00.000Z'],
    ['2026-01-31T09:30:00.1Z', '2026-01-31T09:30:00.100Z'],
    [' 2026-01-31T09:30:00+02:00 ', '2026-01-31T07:30:00.000Z'],
    ['2026-01-31 09:30:00.123456+00', '2026-01-31T09:30:00.123Z'],
    ['2026-01-31 09:30:00-05:30', '2026-01-31T15:00:00.000Z'],
    ['2026-01-31 09:30:00', '2026-01-31T09:30:00.000Z'],
    ['1769851800', '2026-01-31T09:30:00.000Z'],
    ['1769851800000', '2026-01-31T09:30:00.000Z'],
    [1_769_851_800, '2026-01-31T09:30:00.000Z'],
    [1_769_851_800.5, '2026-01-31T09:30:00.500Z'],
    [1_769_851_800_000, '2026-01-31T09:30:00.000Z'],
    ['', undefined],
    [' ', undefined],
    [null, undefined],
  ] as const)
    assert.equal(timeOf(value, 'expires_at'), at, String(value))
})

test('what is no time is a fault that names the member, also if it is too large', () => {
  for (const value of [
    ['0', 0],
    ['1', 20_260_131, '20260131', -1_769_851_800, Number.NaN],
    ['2026', '2026-1-31', '31.01.2026', 'Jan 31 2026', '2026-01-31T', 'infinity', 'NULL', true, {}, []],
    ['2026-02-30', '2026-13-01', '2026-01-31T24:00:00Z', '2026-01-31T09:61Z', '2026-01-31T09:30+99'],
    [1e300, Number.POSITIVE_INFINITY, '9'.repeat(40), 253_402_300_800_000, '99999-01-01'],
  ].flat())
    assert.throws(
      () => timeOf(value, 'expires_at'),
      (error: Error) => error.constructor.name === 'RowFault' && /^expires_at is /.test(error.message),
      String(value),
    )
  assert.throws(() => timeOf(0, 'expires_at'), /write it empty for never/)
})

test('the ttl of Kong counts from the listing, also without created_at', async () => {
  const key = (name: string, more: object) => ({ key: `old_${name}`, consumer: { username: 'a' }, ...more })
  const { rows, faults } = await of(
    'kong',
    key('a', { ttl: 60 }),
    key('b', { ttl: 60, created_at: 1_705_312_800 }),
    key('c', { ttl: 0 }),
    key('d', { ttl: null }),
    key('e', { ttl: -5 }),
    key('f', { ttl: 'soon' }),
    key('g', { ttl: 999_999_999_999 }),
  )
  const end = '2026-01-01T00:01:00.000Z'
  assert.deepEqual(
    rows.map(row => row.expires_at),
    [end, end, undefined, undefined],
  )
  assert.equal(faults.length, 3)
  assert.match(faults.join('\n'), /ttl is no number of seconds\n.*\nttl is later than/)
})

test('only a consumer within a dump of Kong may lack keys', async () => {
  assert.deepEqual(await of('kong', { consumers: [{ username: 'a' }] }), {
    rows: [],
    faults: [],
    goesOn: false,
  })
  for (const record of [{ username: 'a' }, { data: [{ username: 'a' }] }, { services: [] }]) {
    const { rows, faults } = await of('kong', record)
    assert.deepEqual(rows, [])
    assert.notDeepEqual(faults, [], JSON.stringify(record))
  }
})

test('a deleted key of the table of Unkey has a time of deletion', async () => {
  const table = (deleted: string) =>
    given('unkey', `hash,owner_id,name,expires,deleted_at_m\n${digest},org_1,NULL,\\N,${deleted}\n`)
  for (const deleted of ['', '0', 'NULL', '\\N']) {
    const { rows } = await table(deleted)
    assert.deepEqual(rows, [{ external_id: 'org_1', digest }], deleted)
  }
  assert.deepEqual((await table('1701425400000')).faults, ['ended'])
  assert.deepEqual((await of('unkey', { hash: digest, ownerId: 'a', deletedAt: 1_701_425_400_000 })).faults, [
    'ended',
  ])
})

test('an environment that is neither live nor test is a fault', async () => {
  const row = { digest, external_id: 'org_1' }
  const { rows, faults } = await of(
    'keyrail',
    { ...row, env: 'live' },
    { ...row, env: 'test' },
    { ...row, env: 'production' },
    { ...row, env: 'Live' },
    { ...row, env: true },
  )
  assert.equal(rows.length, 1)
  assert.deepEqual(faults.slice(0, 3), [
    'others',
    'env is neither live nor test',
    'env is neither live nor test',
  ])
  assert.equal(faults.length, 4)
})

test('white space around the id of a customer makes no other customer of it', async () => {
  const row = { digest, external_id: 'org_1 ' }
  const spaces = /^white space stands around the id of the customer/
  for (const records of [[row], [{ ...row, external_id: ' org_1' }], [{ ...row, external_id: ' ' }]]) {
    const { rows, faults } = await of('keyrail', ...records)
    assert.deepEqual(rows, [])
    assert.match(faults[0] ?? '', spaces)
  }
  for (const line of ['org_1 ', ' org_1', '" org_1"']) {
    const { rows, faults } = await given('keyrail', `external_id,digest\n${line},${digest}\n`)
    assert.deepEqual(rows, [])
    assert.match(faults[0] ?? '', spaces)
  }
  for (const [format, record] of [
    ['unkey', { hash: digest, ownerId: 'a ' }],
    ['kong', { key: 'old_1', consumer: { username: 'a ' } }],
    ['aws', { value: 'old_1', name: 'a\t' }],
    ['plain', { key: 'old_1', external_id: 'a\u00a0' }],
  ] as const)
    assert.match((await of(format, record)).faults[0] ?? '', spaces, format)
})

test('an export has each customer as it is', async () => {
  for (const external_id of ['org_1 ', ' ', '\u3000a']) {
    const exported = { object: 'exported_key', digest, external_id }
    const whole = await of('keyrail', exported, { object: 'export_end', count: 1 })
    assert.equal(whole.rows[0]?.external_id, external_id)
    const failed = await of('keyrail', { record: 1, digest, external_id, errors: [] })
    assert.equal(failed.rows[0]?.external_id, external_id)
  }
})

test('a failed row of a key that has ended is no key that works', async () => {
  const row = { record: 7, digest, external_id: 'org_1', ended: true, errors: [{ path: '', message: 'x' }] }
  assert.deepEqual((await of('keyrail', row)).faults, ['ended'])
})

test('a prefix that the service does not take is left out', async () => {
  for (const key of ['ol"d_5uQ2vXc8LmZ1tRb7YwKd', 'ol\\d_5uQ2vXc8LmZ1tRb7YwKd']) {
    const { rows } = await of('plain', { key, external_id: 'org_1' })
    assert.equal(rows.length, 1)
    assert.equal(rows[0]?.display_prefix, undefined)
  }
})

test('a key of better-auth that was not hashed is hashed, and shown nowhere', async () => {
  const plain = `old_${'abcdefgh'.repeat(7)}`
  const hash = createHash('sha256').update('x').digest('base64url')
  const given = await of(
    'better-auth',
    { key: plain, start: 'old_ab', userId: 'u' },
    { key: hash, start: hash.slice(0, 1), userId: 'u' },
    { key: hash, start: 'old_ab', userId: 'u' },
  )
  const digests = given.rows.map(row => row.digest)
  assert.deepEqual(digests, [createHash('sha256').update(plain).digest('hex'), hash, hash])
  assert.ok(!JSON.stringify(given).includes(plain))
})

test('a list is taken apart only in a format that has it', async () => {
  const own = { digest, external_id: 'org_1' }
  assert.match((await of('keyrail', { data: [own] })).faults[0] ?? '', /a member that is none of/)
  assert.match((await of('plain', { items: [own] })).faults[0] ?? '', /a member that is none of/)
  const key = { plaintext: 'old_5uQ2vXc8LmZ1tRb7YwKd', identity: { externalId: 'org_1' } }
  const { rows, faults } = await of('unkey', { data: [key] }, { ...key, items: [key] })
  assert.deepEqual([rows.length, faults], [2, []])
})

test('a column that stands twice is refused without its name', async () => {
  for (const names of ['key,external_id,key', 'key,external_id,Key'])
    await assert.rejects(given('plain', `${names}\na,b,c\n`), (error: Error) => {
      assert.match(error.message, /the columns 1 and 3 have the same name\.$/)
      return error.constructor.name === 'CommandFailed'
    })
})

test('a file that cannot be read to its end is a fault of the command', async t => {
  t.mock.method(fs, 'createReadStream', () => {
    const broken = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
    return new Readable({
      read() {
        this.destroy(broken)
      },
    })
  })
  syncBuiltinESMExports()
  try {
    for (const text of ['key,external_id\na,b\n', '{"key":"a","external_id":"b"}\n'])
      await assert.rejects(given('plain', text), (error: Error) => {
        assert.match(error.message, /cannot be read: EIO/)
        return error.constructor.name === 'CommandFailed'
      })
  } finally {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  }
})

test('a last page that says that others follow is known', async () => {
  const key = { plaintext: 'old_5uQ2vXc8LmZ1tRb7YwKd', identity: { externalId: 'org_1' } }
  const unkey = (hasMore: boolean) => ({ data: [key], pagination: { hasMore } })
  assert.equal((await of('unkey', unkey(true))).goesOn, true)
  assert.equal((await of('unkey', unkey(true), unkey(false))).goesOn, false)
  assert.equal((await of('unkey', [unkey(false), unkey(true)])).goesOn, true)
  for (const [format, page, goesOn] of [
    ['kong', { data: [], next: '/key-auths?offset=x' }, true],
    ['kong', { data: [], offset: 'x' }, true],
    ['kong', { data: [], next: null }, false],
    ['zuplo', { data: [{ name: 'a', apiKeys: [] }], limit: 1, offset: 0, total: 2 }, true],
    ['zuplo', { data: [{ name: 'a', apiKeys: [] }], limit: 1, offset: 1, total: 2 }, false],
    ['aws', { items: [], NextToken: 'x' }, true],
    ['aws', { items: [] }, false],
  ] as const)
    assert.equal((await of(format, page)).goesOn, goesOn, JSON.stringify(page))
})

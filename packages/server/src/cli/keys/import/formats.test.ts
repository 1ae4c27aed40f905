import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { type Item, readBatches } from './batches.ts'
import { type FormatName, formats } from './formats.ts'
import type { ImportRow } from './rows.ts'

const folder = join(import.meta.dirname, '../../../../test/imports')
const now = Date.parse('2026-01-01T00:00:00Z')

const place = (env: 'live' | 'test' = 'live', from: string | null = null) => ({
  now,
  env,
  from,
  listedAt: now - 86_400_000,
  seen: null,
})

async function itemsOf(file: string, format: FormatName, to = place()): Promise<Item[]> {
  const items: Item[] = []
  for await (const batch of readBatches(resolve(folder, file), formats[format], 0, to))
    items.push(...batch.items)
  return items
}
const rowsOf = async (file: string, format: FormatName): Promise<ImportRow[]> =>
  (await itemsOf(file, format)).flatMap(item => ('row' in item ? [item.row] : []))
/** Why records give no row: `ended`, or the faults. */
const faultsOf = async (file: string, format: FormatName): Promise<string[]> =>
  (await itemsOf(file, format)).flatMap(item =>
    'leftOut' in item ? [item.leftOut] : 'faults' in item ? item.faults.map(({ message }) => message) : [],
  )

/** The keys that the files were made of. */
const keyOf = (name: string) => `old_${name}_5uQ2vXc8LmZ1tRb7YwKd`
const hexOf = (name: string) => createHash('sha256').update(keyOf(name)).digest('hex')
/** Any form of a digest as hex. */
const asHex = ({ digest }: ImportRow) =>
  digest.length === 64 ? digest.toLowerCase() : Buffer.from(digest, 'base64url').toString('hex')

test('a table has digests in each form, and a salted hash is refused by its name', async () => {
  const rows = await rowsOf('digests.csv', 'keyrail')
  assert.deepEqual(rows.map(asHex), ['hex', 'upper', 'base64', 'url', 'named', 'bytea'].map(hexOf))
  assert.deepEqual(rows[0], {
    external_id: 'org_hex',
    digest: hexOf('hex'),
    name: 'Build, server',
    scopes: ['orders:read', 'orders:write'],
  })
  assert.equal(rows[1]?.expires_at, '2099-01-01T00:00:00.000Z')
  const [fault] = await faultsOf('digests.csv', 'keyrail')
  assert.match(fault ?? '', /salted hash \(2b\), which cannot be looked up/)
})

test('keys that Unkey lists decrypted, and those of its table', async () => {
  assert.deepEqual(await rowsOf('unkey.json', 'unkey'), [
    {
      external_id: 'org_unkey',
      digest: hexOf('unkey'),
      display_prefix: 'old_unk',
      source_id: 'key_2cGKbMxRyIzhCxo1Idjz8q',
      name: 'Payment service',
      scopes: ['documents.read'],
      meta: { plan: 'pro' },
      created_at: '2023-12-01T10:10:00.000Z',
    },
  ])
  const faults = await faultsOf('unkey.json', 'unkey')
  assert.equal(faults[0], 'ended')
  assert.match(faults[1] ?? '', /neither plaintext nor hash/)
  const [row] = await rowsOf('unkey-table.csv', 'unkey')
  assert.ok(row !== undefined)
  assert.deepEqual([asHex(row), row.external_id, row.meta], [hexOf('table'), 'org_table', { plan: 'free' }])
})

test('the table of better-auth, with its permissions and its text in a text', async () => {
  const [row, ...more] = await rowsOf('better-auth.csv', 'better-auth')
  assert.ok(row !== undefined)
  assert.deepEqual([asHex(row), more], [hexOf('better'), []])
  assert.deepEqual(
    { ...row, digest: '' },
    {
      external_id: 'user_7',
      digest: '',
      display_prefix: 'old_be',
      source_id: 'b1',
      name: 'CI',
      scopes: ['files:read', 'files:write'],
      meta: { team: 'ops' },
      created_at: '2025-04-01T09:30:00.123Z',
    },
  )
  assert.deepEqual(await faultsOf('better-auth.csv', 'better-auth'), ['ended'])
})

test('consumers of Zuplo, without keys that are masked or have ended', async () => {
  assert.deepEqual(await rowsOf('zuplo.json', 'zuplo'), [
    {
      external_id: 'acme-corp',
      digest: hexOf('zuplo'),
      display_prefix: 'old_zupl',
      source_id: 'key_z1',
      name: 'Production',
      meta: { plan: 'gold' },
      created_at: '2024-03-02T10:00:00.000Z',
    },
  ])
  const faults = await faultsOf('zuplo.json', 'zuplo')
  assert.equal(faults[0], 'ended')
  assert.match(faults[1] ?? '', /masked/)
})

test('a dump of Kong, and credentials of its API', async () => {
  const rows = await rowsOf('kong.json', 'kong')
  assert.deepEqual(
    rows.map(row => [row.external_id, row.digest]),
    [
      ['org_kong', hexOf('kong')],
      ['org_kong', hexOf('kong2')],
      ['initech', hexOf('kong3')],
    ],
  )
  assert.deepEqual(await faultsOf('kong.json', 'kong'), [], 'a consumer without keys is none')
  const [row, brief] = await rowsOf('kong-admin.ndjson', 'kong')
  assert.deepEqual(row, {
    external_id: '84a73fb8-50fc-44a7-a4d5-aa17728ee83f',
    digest: hexOf('admin'),
    display_prefix: 'old_admi',
    source_id: 'a1',
    created_at: '2024-01-15T10:00:00.000Z',
  })
  assert.equal(brief?.expires_at, '2026-01-30T00:00:00.000Z', '30 days after the listing')
})

test('the CSV and the JSON of API Gateway, and a table of plain keys', async () => {
  assert.deepEqual(await rowsOf('aws.csv', 'aws'), [
    {
      external_id: 'org_aws',
      digest: hexOf('aws'),
      display_prefix: 'old_aws_',
      name: 'org_aws',
      meta: { description: 'An imported key', usage_plans: ['c7y23b', 'glvrsr'] },
    },
  ])
  assert.deepEqual(await faultsOf('aws.csv', 'aws'), ['ended'])
  assert.deepEqual(await rowsOf('aws.json', 'aws'), [
    {
      external_id: 'org_aws2',
      digest: hexOf('aws2'),
      display_prefix: 'old_aws2',
      source_id: 'k1a2b3',
      name: 'org_aws2',
      created_at: '2024-05-01T10:00:00.000Z',
    },
  ])
  assert.deepEqual(await faultsOf('aws.json', 'aws'), ['ended'])
  const [row] = await rowsOf('plain.csv', 'plain')
  assert.deepEqual([row?.digest, row?.external_id, row?.name], [hexOf('plain'), 'org_plain', 'Laptop'])
})

test('no row has a key in plain text, whatever the format', async () => {
  const given: Record<string, FormatName> = {
    'digests.csv': 'keyrail',
    'unkey.json': 'unkey',
    'unkey-table.csv': 'unkey',
    'better-auth.csv': 'better-auth',
    'zuplo.json': 'zuplo',
    'kong.json': 'kong',
    'kong-admin.ndjson': 'kong',
    'aws.csv': 'aws',
    'aws.json': 'aws',
    'export.ndjson': 'keyrail',
    'plain.csv': 'plain',
  }
  assert.deepEqual(Object.keys(given).toSorted(), readdirSync(folder).toSorted())
  const first = place('live', '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11')
  for (const [file, format] of Object.entries(given))
    assert.doesNotMatch(JSON.stringify(await itemsOf(file, format, first)), /5uQ2vXc8LmZ1tRb7YwKd/, file)
})

test('a batch goes on behind any record', async () => {
  const all = await itemsOf('digests.csv', 'keyrail')
  for (let skipped = 0; skipped <= all.length; skipped += 1) {
    const rest: Item[] = []
    for await (const { items, records } of readBatches(
      join(folder, 'digests.csv'),
      formats.keyrail,
      skipped,
      place(),
    )) {
      rest.push(...items)
      assert.equal(records, all.length)
    }
    assert.deepEqual(rest, all.slice(skipped))
  }
})

test('an export gives the keys of one environment and one project', async () => {
  const digests = (items: Item[]) => items.flatMap(item => ('row' in item ? [asHex(item.row)] : []))
  const of = (env: 'live' | 'test', from: string | null) =>
    itemsOf('export.ndjson', 'keyrail', place(env, from))
  const [first, second] = ['01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11', '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d22']
  assert.deepEqual(digests(await of('live', first)), [hexOf('one')])
  assert.deepEqual(digests(await of('live', second)), [hexOf('two')])
  assert.deepEqual(digests(await of('test', null)), [hexOf('three')])
  await assert.rejects(of('live', null), /several projects.*--from/)
  const [item] = await of('live', first)
  assert.deepEqual(item !== undefined && 'row' in item && item.row, {
    external_id: 'org_one',
    digest: hexOf('one'),
    display_prefix: 'old_one',
    scopes: [],
    rate_limits: [{ id: 'minute', limit: 5, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }],
    created_at: '2024-05-01T10:00:00.000Z',
    disabled_at: '2024-06-01T10:00:00.000Z',
  })
})

const written = async (text: string, format: FormatName = 'keyrail'): Promise<Item[]> => {
  const path = join(mkdtempSync(join(tmpdir(), 'keyrail-import-')), 'file')
  writeFileSync(path, text)
  try {
    return await itemsOf(path, format)
  } finally {
    rmSync(dirname(path), { recursive: true })
  }
}

test('an export that is not whole is refused, wherever it was cut', async () => {
  const lines = readFileSync(join(folder, 'export.ndjson'), 'utf8').trimEnd().split('\n')
  const row = (at: number) => lines[at] ?? ''
  const end = (count: number) => JSON.stringify({ object: 'export_end', count })
  assert.equal((await written([row(0), end(1)].join('\n'))).length, 1)
  await assert.rejects(written(row(0)), /lacks its last line/)
  await assert.rejects(written([row(0), end(2)].join('\n')), /lacks keys/)
  await assert.rejects(written([row(0), end(1), row(1)].join('\n')), /goes on behind the last line/)
})

test('what is wrong with a file is said, and never with a value of it', async () => {
  const key = keyOf('secret')
  for (const [text, format] of [
    [`${key}\n${keyOf('other')}\n`, 'plain'],
    [`${key}\n${keyOf('other')}\n`, 'keyrail'],
    [`digest,external_id\n${key},org_1\n`, 'keyrail'],
    [`{"key":"${key}\\u00e9","external_id":"org_1"}\n`, 'plain'],
    [`{"key":"${key}","consumer":{}}\n`, 'kong'],
    [`{"key":"${key}","metadata":"${key}","userId":"u"}\n`, 'better-auth'],
    [`{"key":"${key}"\n{}`, 'plain'],
  ] as const) {
    const said = JSON.stringify(
      await written(text, format).catch((error: Error) => [{ faults: error.message }]),
    )
    assert.match(said, /"faults"/, text)
    assert.doesNotMatch(said, /5uQ2vXc8LmZ1tRb7YwKd/, text)
  }
  await assert.rejects(written(`key,external_id\n"${key}"x,org_1\n`, 'plain'), (error: Error) => {
    assert.match(error.message, /is no CSV .*: CSV_/)
    return !error.message.includes(key)
  })
  const [item] = await written(`{"key":"${key}","consumer":{}}\n`, 'kong')
  assert.deepEqual(item !== undefined && 'part' in item && item.part.digest, hexOf('secret'))
})

test('a document of one long line is read as one, and a line that is too long as a fault', async () => {
  const row = (name: string) => ({ digest: hexOf(name), external_id: 'org_1', name: 'n'.repeat(200) })
  const many = Array.from({ length: 4_000 }, (_, at) => ({ name: `org_${at}`, key: keyOf('n'.repeat(300)) }))
  assert.equal((await written(JSON.stringify({ items: many }), 'aws')).length, 4_000)
  const long = JSON.stringify({ ...row('long'), meta: { note: 'x'.repeat(1_048_576) } })
  const items = await written([JSON.stringify(row('a\u2028b')), long, JSON.stringify(row('c'))].join('\r\n'))
  assert.deepEqual(
    items.map(item => 'row' in item),
    [true, false, true],
  )
})

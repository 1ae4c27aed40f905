import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { to as copyTo } from 'pg-copy-streams'
import { startHarness } from '../../test/harness.ts'
import { connect } from '../platform/db/connection.ts'
import { canonicalRow } from './chain.ts'
import { type CopiedRow, CopiedRows } from './copied-rows.ts'

const harness = await startHarness()
const client = await connect(harness.connection, 'test', false)
after(() => client.end())
await client.query('create temp table copied (like audit_logs)')
// Finer than the chain keeps times, as an owner of the database could store them.
await client.query('alter table copied alter created_at type timestamptz')

const workspaceId = randomUUID()
const columns =
  'seq, action, actor_type, actor_id, target_type, target_id, env, payload, created_at, prev_hash, hash'

interface Given {
  seq?: number | bigint
  actorId?: string | null
  env?: 'live' | 'test' | null
  payload?: string
  createdAt?: string
}

/** The bytes that Postgres sends for these rows, and their canonical forms as Postgres derives them. */
async function copy(given: Given[]): Promise<{ bytes: Buffer; canonical: string[]; hashes: string[] }> {
  await client.query('truncate copied')
  for (const [i, row] of given.entries()) {
    const {
      seq = i + 1,
      actorId = null,
      env = null,
      payload = '{}',
      createdAt = '2026-11-21T10:00:00Z',
    } = row
    await client.query(
      `insert into copied (workspace_id, ${columns})
       values ($1, $2, 'tenant.updated', 'user', $3, 'tenant', $4, $5, $6, $7, $8, $9)`,
      [workspaceId, seq, actorId, randomUUID(), env, payload, createdAt, randomBytes(32), randomBytes(32)],
    )
  }
  const stream = client.query(
    copyTo(`copy (select ${columns} from copied order by seq) to stdout (format binary)`),
  )
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const { rows } = await client.query(
    `select encode(prev_hash, 'hex') || encode(hash, 'hex') as hashes, case when isfinite(created_at) then
       audit_canonical(workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env, created_at, payload)
     end as canonical from copied order by seq`,
  )
  return {
    bytes: Buffer.concat(chunks),
    canonical: rows.map(row => row.canonical),
    hashes: rows.map(row => row.hashes),
  }
}

/** Reads in chunks of the given sizes, repeated. */
function read(bytes: Buffer, sizes: readonly number[]): { canonical: string[]; hashes: string[] } {
  const rows = new CopiedRows(workspaceId)
  const canonical: string[] = []
  const hashes: string[] = []
  const take = (row: CopiedRow) => {
    canonical.push(Buffer.from(canonicalRow(row), 'latin1').toString())
    hashes.push(Buffer.from(row.prevHash + row.hash, 'latin1').toString('hex'))
    return true
  }
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] as number
    assert.equal(rows.read(bytes.subarray(at, at + size), take), true)
    at += size
  }
  return { canonical, hashes }
}

const edges = await copy([
  {},
  { actorId: 'user_1', env: 'live' },
  { payload: '{"name":"Ünïcode 😀 \\u0000 \u0080\u009f\ufeff"}' },
  { payload: `{"long":"${'é'.repeat(40_000)}"}` },
  { createdAt: '2026-11-21T10:00:00.001Z' },
  { createdAt: '2026-11-21T10:00:00.010Z' },
  { createdAt: '2026-11-21T10:00:00.999Z' },
  { createdAt: '1969-12-31T23:59:59.999Z' },
  { createdAt: '9999-12-31T23:59:59.999Z' },
  { seq: Number.MAX_SAFE_INTEGER },
])

test('rows are read as Postgres hashes them, wherever the stream is cut', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(sizes, sizes => {
      assert.deepEqual(read(edges.bytes, sizes), { canonical: edges.canonical, hashes: edges.hashes })
    }),
    { numRuns: 60, examples: [[[edges.bytes.length]], [[7]], [[19]], [[65_536]]] },
  )
})

test('an empty chain has no rows', async () => {
  const { bytes } = await copy([])
  for (const size of [1, 19, bytes.length]) assert.deepEqual(read(bytes, [size]).canonical, [])
})

test('reading stops at the first row that is not accepted', () => {
  const rows = new CopiedRows(workspaceId)
  const seen: number[] = []
  const take = ({ seq }: CopiedRow) => seen.push(seq) < 3
  assert.equal(rows.read(edges.bytes, take), false)
  assert.deepEqual(seen, [1, 2, 3])
})

test('a time that the chain cannot contain never looks like one that it can', async () => {
  const times = [
    'infinity',
    '-infinity',
    '2026-11-21T10:00:00.000001Z',
    '2026-11-21T10:00:00.0005Z',
    '4000-01-01 BC',
  ]
  const { bytes } = await copy(times.map(createdAt => ({ createdAt })))
  const texts = read(bytes, [bytes.length]).canonical.map(text => JSON.parse(text).created_at)
  assert.equal(texts.length, times.length)
  for (const time of texts) assert.doesNotMatch(time, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  assert.equal(new Set(texts).size, times.length)
})

test('a negative or inexact seq never looks like that of another row', async () => {
  const given = [-5, -(2 ** 40), 2n ** 53n + 2n, 2n ** 62n].toSorted((a, b) => (a < b ? -1 : 1))
  const { bytes } = await copy(given.map(seq => ({ seq })))
  const seqs: number[] = []
  new CopiedRows(workspaceId).read(bytes, ({ seq }) => seqs.push(seq) > 0)
  assert.deepEqual(seqs, given.map(Number))
})

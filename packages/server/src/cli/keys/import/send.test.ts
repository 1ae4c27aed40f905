import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { KeysApi } from '../api.ts'
import { formats } from './formats.ts'
import { type Failed, sendAll } from './send.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-send-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const place = { projectId: '', env: 'live' as const, from: null }
const never = new AbortController().signal
const hexOf = (text: string) => createHash('sha256').update(text).digest('hex')

const unavailable = () => Object.assign(new Error('unavailable'), { status: 503 })

/** A service that answers a call if it may. */
function serviceThat(answers: (rows: number) => boolean) {
  const calls: { rows: number; maxRetries: number | undefined }[] = []
  const keys: Pick<KeysApi['keys'], 'import'> = {
    async import({ rows }, { maxRetries }) {
      calls.push({ rows: rows.length, maxRetries })
      if (!answers(rows.length)) throw unavailable()
      return { rows: rows.map(() => ({ status: 'created', active: true })) } as never
    },
  }
  return { keys: keys as KeysApi['keys'], calls }
}

function importOf(rows: number, keys: KeysApi['keys'], stop = new AbortController().signal) {
  const path = join(folder, `${rows}.ndjson`)
  const line = (n: number) => JSON.stringify({ external_id: 'org', digest: n.toString(16).padStart(64, '0') })
  writeFileSync(path, `${Array.from({ length: rows }, (_, n) => line(n)).join('\n')}\n`)
  return sendAll(
    { ...place, path, format: formats.keyrail, keys, createTenants: true, dryRun: false, stop },
    null,
  )
}

test('a call that a busy service cannot answer in time is followed by smaller ones', async () => {
  const { keys, calls } = serviceThat(rows => rows <= 300)
  const { counts } = await importOf(20_000, keys)
  assert.deepEqual([counts.records, counts.created], [20_000, 20_000])
  const [first, second, third] = calls
  assert.deepEqual([first?.rows, second?.rows, third?.rows], [1_000, 500, 250])
  assert.equal(Math.min(...calls.map(({ rows }) => rows)) >= 250, true)
  // What failed is tried again, but not after each call that was answered.
  const failed = calls.filter(({ rows }) => rows > 300).length
  assert.ok(failed > 2 && failed < 10, String(failed))
})

test('a service that is busy no longer gets whole calls again', async () => {
  let isBusy = true
  const { keys, calls } = serviceThat(rows => !isBusy || rows <= 100)
  const { counts } = await importOf(6_000, {
    ...keys,
    async import(...call) {
      if (calls.length === 10) isBusy = false
      return await keys.import(...call)
    },
  })
  assert.equal(counts.created, 6_000)
  assert.equal(calls.at(-1)?.rows, 1_000)
})

test('rows that the service does not read are found by halves, however many they are', async () => {
  const sent: number[] = []
  const refused = () => Object.assign(new Error('too deep'), { status: 400 })
  const isRead = (digest: string) => Number.parseInt(digest, 16) % 10 !== 0
  const keys = {
    async import({ rows }: { rows: { digest: string }[] }) {
      sent.push(rows.length)
      if (!rows.every(({ digest }) => isRead(digest))) throw refused()
      return { rows: rows.map(() => ({ status: 'created', active: true })) } as never
    },
  } as unknown as KeysApi['keys']
  const { counts } = await importOf(1_000, keys)
  assert.deepEqual([counts.created, counts.failed], [900, 100])
  // No row is in more calls than it takes halves to find one of a thousand.
  assert.ok(sent.reduce((sum, rows) => sum + rows, 0) <= 11 * 1_000)
})

test('the smallest call is repeated for long, and then the import stops', async () => {
  const { keys, calls } = serviceThat(() => false)
  await assert.rejects(importOf(1_000, keys), /unavailable\nThe same command goes on where it stopped\./)
  assert.deepEqual(
    calls.map(({ rows }) => rows),
    [1_000, 500, 250, 125, 62, 50],
  )
  assert.deepEqual([calls[0]?.maxRetries, calls.at(-1)?.maxRetries], [1, 16])
})

test('a refusal of the caller is not repeated in smaller calls', async () => {
  const { keys, calls } = serviceThat(() => true)
  const refused = () => Promise.reject(Object.assign(new Error('insufficient'), { status: 403 }))
  await assert.rejects(importOf(500, { ...keys, import: refused }), /insufficient/)
  assert.equal(calls.length, 0)
})

test('a call that was stopped is not repeated', async () => {
  const stopping = new AbortController()
  const { keys, calls } = serviceThat(() => {
    stopping.abort()
    return false
  })
  await assert.rejects(importOf(500, keys, stopping.signal))
  assert.equal(calls.length, 1)
})

test('faults of rows name members as a file has them', async () => {
  const errors = [
    { path: 'tenantId', message: 'is required, or externalId' },
    { path: 'rateLimits.0.windowMs', message: 'must be >= 1' },
    { path: 'meta.planName', message: 'is not valid' },
  ]
  const keys = {
    import: async () => ({ rows: [{ status: 'invalid', id: null, errors }] }) as never,
  } as unknown as KeysApi['keys']
  const { faults } = await importOf(1, keys)
  assert.deepEqual(faults, [
    'record 1: tenant_id: is required, or external_id; rate_limits.0.window_ms: must be >= 1; meta.planName: is not valid',
  ])
})

interface TrialFlags {
  dryRun?: boolean
  createTenants?: boolean
}

test('a key that has ended in its own system, and is active here, fails with its id', async () => {
  const path = join(folder, 'ended.ndjson')
  const key = (name: string, more: object) => ({ hash: hexOf(name), ownerId: 'org', ...more })
  const past = { expires: 1_600_000_000_000 }
  const records = [
    key('works', {}),
    key('expired', past),
    key('disabled', { enabled: false, meta: 7 }),
    key('gone', { deletedAt: 1_600_000_000_000 }),
    { ...past, ownerId: 'org' },
  ]
  writeFileSync(path, records.map(record => `${JSON.stringify(record)}\n`).join(''))
  const asked: [digests: string[], dryRun: boolean | undefined, createTenants: boolean | undefined][] = []
  const keys = {
    async import(body: { rows: { digest: string; externalId: string }[] } & TrialFlags) {
      const { rows, dryRun, createTenants } = body
      asked.push([rows.map(row => row.digest), dryRun, createTenants])
      const active = new Set([hexOf('expired'), hexOf('gone'), hexOf('works')])
      const noTenant = { status: 'invalid', errors: [{ path: 'external_id', message: 'of no tenant' }] }
      const answers = rows.map(({ digest, externalId }) => ({
        ...(externalId === 'org' ? { status: 'exists' } : noTenant),
        id: `id of ${digest}`,
        active: active.has(digest),
      }))
      return { rows: answers } as never
    },
  } as unknown as KeysApi['keys']
  const failed: Failed[] = []
  const { counts } = await sendAll(
    { ...place, path, format: formats.unkey, keys, createTenants: true, dryRun: false, stop: never },
    null,
    async (_, more) => void failed.push(...more),
  )
  assert.deepEqual(asked, [
    [['expired', 'disabled', 'gone'].map(hexOf), true, false],
    [[hexOf('works')], false, true],
  ])
  assert.deepEqual([counts.existing, counts.ended, counts.failed, counts.inactive], [1, 2, 2, 0])
  assert.deepEqual(
    failed.map(({ record, row, ended }) => [record, row.digest, ended]),
    [
      [2, hexOf('expired'), true],
      [4, hexOf('gone'), true],
    ],
  )
  for (const { row, errors } of failed)
    assert.match(
      errors[0]?.message ?? '',
      new RegExp(`is active here: revoke it, its id is id of ${row.digest}$`),
    )
})

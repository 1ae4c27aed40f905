import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { domain, genesisHash } from '../../packages/server/src/audit/chain.ts'
import { runGenerator } from '../harness/generator.ts'
import { keyOf } from './creations.ts'
import type { HashCounts, HashPlan } from './hash-chain-process.ts'
import { prepareHeadCommits } from './head-commits.ts'
import { requireChains, requireRows, settledLedger } from './ledger.ts'
import { fillChain, writeCanonicalRows } from './long-chain.ts'
import { type Keyrail, migratedPostgres, startKeyrail } from './start.ts'
import { call, makeVendor } from './vendor.ts'
import { startWriters } from './writers.ts'

const postgres = await migratedPostgres()
const folder = mkdtempSync(join(tmpdir(), 'keyrail-service-'))
after(async () => {
  await postgres.close()
  rmSync(folder, { recursive: true })
})

async function start(t: TestContext, options: { audit?: boolean } = {}): Promise<Keyrail> {
  const server = await startKeyrail(postgres, options)
  t.after(() => server.close())
  return server
}

test('the service under bench audits each creation, and its control none', async t => {
  for (const audit of [true, false]) {
    const server = await start(t, { audit })
    const vendor = await makeVendor(server.url, { tenants: 2 })
    const before = await settledLedger(postgres, [vendor])
    for (const n of [0, 1, 2]) await call(server.url, vendor.token, '/v1/keys', keyOf(vendor, n))
    const now = await settledLedger(postgres, [vendor])
    requireRows(before, now, { answered: 3, cutOff: 0, audited: audit })
    await requireChains(server.url, [vendor], now.auditRows)
  }
})

test('a chain lengthened by SQL verifies, and the hashing process gets the same hash', async t => {
  const server = await start(t)
  const vendor = await makeVendor(server.url)
  await fillChain(postgres, vendor, 2_500)
  const file = join(folder, 'rows')
  await writeCanonicalRows(postgres, vendor, file)
  const chain = await call(server.url, vendor.token, '/v1/audit_logs/chain')
  assert.deepEqual([chain.valid, chain.checked, chain.head_seq], [true, 2_500, 2_500])
  const genesis = genesisHash(vendor.workspaceId).toString('hex')
  const script = new URL('hash-chain-process.ts', import.meta.url).href
  const { rows, last } = await runGenerator<HashPlan, HashCounts>(script, { file, genesis, domain }, null)
  assert.deepEqual({ rows, last }, { rows: 2_500, last: chain.head_hash })
})

test('writers record exactly the writes acknowledged before the server was killed', async t => {
  const server = await start(t)
  const { token, workspaceId } = await makeVendor(server.url)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const names: string[] = []
  const enough = Promise.withResolvers<void>()
  const makeName = () => {
    if (names.length === 50) enough.resolve()
    return names[names.push(randomUUID()) - 1] ?? ''
  }
  const { ended } = await startWriters(server.url, 3, makeName, name => ({
    method: 'POST',
    path: '/v1/tenants',
    headers,
    body: JSON.stringify({ external_id: name }),
  }))
  await enough.promise
  await server.kill()
  const acknowledged = await ended
  assert.ok(acknowledged.length >= 50 - 3 && acknowledged.length < names.length)
  const rows = await postgres.query('select external_id from tenants where workspace_id = $1', [workspaceId])
  const kept = new Set(rows.map(row => row.external_id))
  assert.deepEqual(
    acknowledged.filter(name => !kept.has(name)),
    [],
  )
})

test('pgbench moves its head by one a commit', async () => {
  const { measure } = await prepareHeadCommits(postgres, 100)
  const { transactions } = await measure(4, 1)
  const [head] = await postgres.query('select seq::int from bench_heads')
  assert.equal(head?.seq, transactions)
})

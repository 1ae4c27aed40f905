import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { layoutOf } from '../packages/server/src/platform/db/embedded/layout.ts'
import { rolesSql } from '../packages/server/src/platform/db/roles/roles.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { Installation } from '../packages/server/test/installation.ts'
import { until } from '../packages/server/test/until.ts'
import { makeVendor } from '../packages/server/test/vendor.ts'
import { codeBlocks, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/operations.md')
const blocksIn = (heading: string) => codeBlocks(section(page, heading)).map(({ text }) => text)

test('the page lists every metric of the service, with its labels', async () => {
  const harness = await startHarness()
  await makeVendor(harness)
  const text = await harness.deps.metrics.text()
  const own = new Map<string, Set<string>>()
  for (const [, name = ''] of text.matchAll(/^# TYPE (\S+)/gm)) {
    if (!/^(process|nodejs)_/.test(name)) own.set(name, new Set())
  }
  for (const [, series = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const names = own.get(series) ?? own.get(series.replace(/_(bucket|sum|count)$/, ''))
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) if (label !== 'le') names?.add(label)
  }
  const shown = tableOf(section(page, 'Metrics')).map(([name = '', labels = '']) => [
    name.replaceAll('`', ''),
    [...labels.matchAll(/\w+/g)].map(([label]) => label).sort(),
  ])
  assert.deepEqual(shown.sort(), [...own].map(([name, labels]) => [name, [...labels].sort()]).sort())
  assert.match(text, /^process_/m)
  assert.match(text, /^nodejs_/m)
})

test('the SQL for a database administrator is that of the service', () => {
  assert.ok(blocksIn('An outside Postgres').includes(rolesSql('keyrail')))
})

test('the paths of the data directory are those of the embedded Postgres', () => {
  const { dataDirectory, passwordFile, configFile, logFile, socketDirectory } = layoutOf('/', 18)
  const paths = tableOf(section(page, 'The embedded Postgres')).map(([path = '']) => path)
  for (const path of [dataDirectory, passwordFile, configFile, logFile, socketDirectory]) {
    assert.ok(
      paths.some(cell => cell.includes(`\`${path.slice(1)}\``)),
      path,
    )
  }
})

/** What differs from one run to the next. */
const masked = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/SHA-256 \w+(…)?/g, 'SHA-256 …')
    .replace(/[\d,]+ (rows|bytes|projects)/g, 'N $1')
    .replace(/\d\.\d s (ahead|behind)/, '0.0 s ahead')
    .replace(/(encryption key +)[0-9a-f]{16}/, '$1…')
    // The tests run as root or not, in a folder that others can read or not.
    .replace(/^(ok +process +).*$/m, '$1…')
    .trim()

test('doctor, backup, restore, secret-keys create and workspace delete do what the page shows', async () => {
  const installation = new Installation()
  after(() => installation.remove())
  const keyrail = async (...args: string[]) => {
    const { code, out, err } = await installation.start(args).ended
    assert.equal(code, 0, err)
    return out
  }
  const { url, child, ended } = await installation.serve()
  const create = await fetch(`${url}/v1/workspaces`, {
    method: 'POST',
    headers: { authorization: `Bearer ${installation.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Acme', slug: 'acme' }),
  })
  const { id } = (await create.json()) as { id: string }

  // The start builds the dashboard if this checkout has changed.
  await until(async () => (await fetch(`${url}/app`)).status === 200)
  const doctor = blocksIn('Check the installation')[1] ?? ''
  const here = (text: string) => text.replaceAll(installation.dataDir, '/srv/keyrail/data')
  assert.equal(masked(here(await keyrail('doctor'))), masked(doctor))

  const file = `${installation.place.temp}/keyrail-monday`
  const backedUp = here(await keyrail('backup', file)).replace(file, '/backups/keyrail-monday')
  assert.equal(masked(backedUp), masked(blocksIn('Backup')[1] ?? ''))

  const key = (
    await keyrail('secret-keys', 'create', '--workspace', id, '--env', 'live', '--role', 'owner')
  ).trim()
  assert.match(key, /^krsk_live_\w{38}$/)
  const asked = () => fetch(`${url}/v1/workspace`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal((await asked()).status, 200)
  assert.match(await keyrail('workspace', 'delete', id, '--yes'), /^ {2}audit_logs +3$/m)
  assert.equal((await asked()).status, 401)
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)

  assert.equal(masked(await keyrail('restore', file)), masked(blocksIn('Restore')[1] ?? ''))
})

import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { type HeldRelay, startHeldRelay } from '../../../../test/held-relay.ts'
import { ask, Installation, type Running, type Serving } from '../../../../test/installation.ts'
import { until } from '../../../../test/until.ts'

/** Imports and exports that stop before they begin, and what they say. */

const installation = new Installation()
let service: Serving
let relay: HeldRelay
let secretKey = ''
let otherKey = ''
let projectId = ''
let folder = ''
let file = ''
const post = async (path: string, token: string, body: object) =>
  (await ask(`${service.url}${path}`, { token, body }))?.body
before(async () => {
  service = await installation.serve()
  relay = await startHeldRelay(service.url)
  const workspace = async (slug: string) =>
    (await post('/v1/workspaces', installation.token, { name: slug, slug })).secret_key.key
  secretKey = await workspace('acme')
  otherKey = await workspace('globex')
  projectId = (await post('/v1/projects', secretKey, { name: 'Payments', slug: 'payments' })).id
})
after(async () => {
  await relay.close()
  await installation.remove()
})
let calls = 0
const countCalls = () => {
  calls += 1
  return false
}
beforeEach(() => {
  if (folder !== '') rmSync(folder, { recursive: true })
  folder = mkdtempSync(join(tmpdir(), 'keyrail-refused-'))
  file = join(folder, 'keys.csv')
  calls = 0
  relay.held = 0
  relay.isHeld = countCalls
})
after(() => rmSync(folder, { recursive: true }))

const run = (token: string, ...args: string[]): Running =>
  installation.start(['keys', ...args], { KEYRAIL_URL: relay.url, KEYRAIL_SECRET_KEY: token })
const imported = (...more: string[]): Running =>
  run(secretKey, 'import', file, '--project', projectId, '--env', 'live', '--create-tenants', ...more)
const plain = (...more: string[]): Running => imported('--format', 'plain', ...more)
const keyOf = (name: string) => `old_${name}_5uQ2vXc8LmZ1tRb7YwKd`
const rowOf = (name: string, customer = 'org_1') => `${keyOf(name)},${customer}\n`
const head = 'key,external_id\n'

/** Ends a command and the Node that it started, as a crash does. */
async function kill({ child, ended }: Running): Promise<void> {
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  await ended
}

test('keys that servers refuse although their rows do not say so are counted', async () => {
  const tenant = await post('/v1/tenants', secretKey, { external_id: 'org_gone' })
  await post(`/v1/tenants/${tenant.id}/suspend`, secretKey, {})
  writeFileSync(file, `${head}${rowOf('good')}${rowOf('gone', 'org_gone')}`)
  const tried = await plain('--dry-run').ended
  assert.equal(tried.code, 0, tried.err)
  assert.match(tried.out, /2 new, .*\n1 of them are not active: .*the customer is suspended/)
  const done = await plain('--yes', '--json').ended
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /^Tried: .*\n1 of them are not active: /m)
  const { created, inactive } = JSON.parse(done.out)
  assert.deepEqual([created, inactive], [2, 1])
  writeFileSync(
    file,
    `digest,external_id,disabled_at\n${'ab'.repeat(32)},org_1,2024-01-01\n${'cd'.repeat(32)},org_1,\n`,
  )
  assert.doesNotMatch((await imported('--dry-run').ended).out, /not active/, 'the row itself says it')
})

test('a file without a record fails, and what was expected is said', async () => {
  writeFileSync(file, head)
  for (const more of [['--dry-run'], ['--yes']]) {
    const { code, out, err } = await plain(...more).ended
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /has no record\. --format plain takes a table .* A record has key, and external_id/)
  }
  assert.deepEqual(readdirSync(folder), ['keys.csv'])
})

test('rows that fail are written into a regular file alone, which is known before the trial', async () => {
  writeFileSync(file, head + rowOf('a'))
  const device = statSync('/dev/null').mode
  for (const [failed, fault] of [
    [folder, /is no regular file/],
    ['/dev/null', /is no regular file/],
    [join(folder, 'none/failed'), /cannot be written, for rows that fail/],
    [file, /--failed is a file that the import itself has/],
    [`${file}.progress`, /--failed is a file that the import itself has/],
  ] as const) {
    const { code, err } = await plain('--yes', '--failed', failed).ended
    assert.equal(code, 1)
    assert.match(err, fault)
  }
  assert.deepEqual([calls, statSync('/dev/null').mode], [0, device])
  assert.deepEqual(readdirSync(folder), ['keys.csv'])
})

test('a file that changes while its rows are tried is not imported', async () => {
  writeFileSync(file, head + rowOf('b'))
  relay.isHeld = ({ body }) => {
    if (body.includes('"dry_run":true')) appendFileSync(file, rowOf('c'))
    return false
  }
  const { code, err } = await plain('--yes').ended
  assert.equal(code, 1)
  assert.match(err, /has changed since its rows were tried\. Nothing was imported\./)
  assert.deepEqual(readdirSync(folder), ['keys.csv'])
})

test('a second import of a file is refused while the first lives, not once it was killed', async () => {
  writeFileSync(file, head + rowOf('d'))
  relay.isHeld = ({ method }) => method === 'POST'
  const first = plain('--yes')
  await until(() => relay.held > 0, 'the trial is held')
  const second = await plain('--yes').ended
  assert.equal(second.code, 1)
  assert.match(second.err, /: Process \d+ on \S+ works on this file\. If .* remove \S+\.lock\./)
  assert.ok(existsSync(`${file}.lock`), 'the lock of the first stays')
  await kill(first)
  assert.ok(existsSync(`${file}.lock`))
  relay.isHeld = countCalls
  const third = await plain('--yes').ended
  assert.equal(third.code, 0, third.err)
  assert.deepEqual(readdirSync(folder), ['keys.csv'])
})

test('a lock of another machine, and one that nobody can read, are not taken over', async () => {
  writeFileSync(file, head + rowOf('e'))
  for (const lock of ['{"pid":1,"host":"elsewhere.example","started":"1"}', '']) {
    writeFileSync(`${file}.lock`, lock)
    assert.match((await plain('--yes').ended).err, /works on this file/)
    assert.equal(readFileSync(`${file}.lock`, 'utf8'), lock)
  }
  assert.equal(calls, 0)
})

test('an export goes on for its own workspace alone, and not twice at once', async () => {
  const path = join(folder, 'keys.ndjson')
  relay.isHeld = ({ path: called }) => called.startsWith('/v1/keys/export')
  const first = run(secretKey, 'export', path)
  await until(() => relay.held > 0, 'the export is held')
  assert.match((await run(secretKey, 'export', path).ended).err, /works on this file/)
  await kill(first)
  relay.isHeld = countCalls
  const other = await run(otherKey, 'export', path).ended
  assert.equal(other.code, 1)
  assert.match(other.err, /partial is of another export/)
  const done = await run(secretKey, 'export', path).ended
  assert.equal(done.code, 0, done.err)
  assert.deepEqual(readdirSync(folder), ['keys.ndjson'])
})

test('a listing whose last page says that others follow is warned of in the trial', async () => {
  const page = (name: string, hasMore: boolean) =>
    JSON.stringify({
      data: [{ plaintext: keyOf(name), identity: { externalId: 'org_1' } }],
      pagination: { hasMore },
    })
  for (const [text, isWarned] of [
    [page('first', true), true],
    [`${page('first', true)}\n${page('second', false)}`, false],
  ] as const) {
    writeFileSync(file, text)
    const { code, err } = await imported('--format', 'unkey', '--dry-run').ended
    assert.equal(code, 0, err)
    assert.equal(/Warning: The last page of the file says that more follow/.test(err), isWarned)
  }
})

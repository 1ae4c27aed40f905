import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
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

const installation = new Installation()
let service: Serving
let relay: HeldRelay
let secretKey = ''
let projectId = ''
let folder = ''
let file = ''
const post = async (path: string, token: string, body: object) =>
  (await ask(`${service.url}${path}`, { token, body }))?.body
before(async () => {
  service = await installation.serve()
  relay = await startHeldRelay(service.url)
  secretKey = (await post('/v1/workspaces', installation.token, { name: 'Acme', slug: 'acme' })).secret_key
    .key
})
after(async () => {
  await relay.close()
  await installation.remove()
})
let made = 0
beforeEach(async () => {
  made += 1
  projectId = (await post('/v1/projects', secretKey, { name: 'Payments', slug: `payments-${made}` })).id
  if (folder !== '') rmSync(folder, { recursive: true })
  folder = mkdtempSync(join(tmpdir(), 'keyrail-import-'))
  file = join(folder, 'keys.csv')
  relay.isHeld = () => false
  relay.answerBytesMost = Number.POSITIVE_INFINITY
  relay.held = 0
})
after(() => rmSync(folder, { recursive: true }))

const start = (verb: 'import' | 'export', path: string, ...more: string[]): Running =>
  installation.start(['keys', verb, path, '--project', projectId, ...more], {
    KEYRAIL_URL: relay.url,
    KEYRAIL_SECRET_KEY: secretKey,
  })
const plain = (...more: string[]): Running =>
  start('import', file, '--env', 'live', '--format', 'plain', '--create-tenants', ...more)

const keyOf = (name: number | string) => `old_${made}_${name}_5uQ2vXc8LmZ1tRb7YwKd`
const digestOf = (name: number | string) => createHash('sha256').update(keyOf(name)).digest('hex')
const tableOf = (count: number) =>
  `key,external_id\n${Array.from({ length: count }, (_, at) => `${keyOf(at)},org_${at % 500}\n`).join('')}`
const verify = async (key: string) =>
  (
    await ask(`${service.url}/v1/keys/verify`, {
      token: secretKey,
      body: { project_id: projectId, key },
    })
  )?.body
/** The lines of an export, which has each key once. */
async function exported(): Promise<string[]> {
  const path = join(folder, 'all.ndjson')
  rmSync(path, { force: true })
  const { code, err } = await start('export', path).ended
  assert.equal(code, 0, err)
  return readFileSync(path, 'utf8').trimEnd().split('\n')
}
const failedPath = () => `${file}.failed.ndjson`
const failedRows = () =>
  readFileSync(failedPath(), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
const progress = () => JSON.parse(readFileSync(`${file}.progress`, 'utf8')).progress

/** Ends a command and the Node that it started, as a crash does. */
async function kill({ child, ended }: Running): Promise<void> {
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  await ended
}

/**
 * Holds every call that imports, once about so many rows were taken. A busy service refuses calls, which are sent again and may have
 * fewer rows then.
 */
const holdAfter = (rows: number) => {
  const rowsOf = ({ method, body }: { method: string; body: string }) =>
    method === 'POST' && body.includes('"dry_run":false') ? body.split('"external_id"').length - 1 : 0
  let taken = 0
  relay.answered = (call, status) => {
    if (status === 200) taken += rowsOf(call)
  }
  relay.isHeld = call => rowsOf(call) > 0 && taken > rows - 250
}

test('rows are tried first, and keys in plain text stay on the machine', async () => {
  writeFileSync(file, `key,external_id\n${keyOf('a')},org_a\nköy,org_b\n${keyOf('c')},\n`)
  let bodies = ''
  relay.isHeld = ({ body }) => {
    bodies += body
    return false
  }
  const tried = await plain('--dry-run').ended
  assert.equal(tried.code, 1)
  assert.match(tried.err, /^Error: 2 rows would fail\.$/m)
  assert.match(
    tried.out,
    /^Tried: 3 records, 1 new, 0 there already, 2 failed\n {2}record 2: digest: key is not 1 to 512/,
  )
  assert.deepEqual(readdirSync(folder), ['keys.csv'])

  for (const more of [[], ['--yes']]) {
    const unsure = await plain(...more).ended
    assert.equal(unsure.code, 1)
    assert.match(unsure.err, /Error: Nothing was imported\. Correct the rows, or add --yes --skip-invalid/)
  }
  assert.equal((await verify(keyOf('a')))?.valid, false)

  const done = await plain('--yes', '--skip-invalid').ended
  assert.equal(done.code, 1)
  assert.match(done.out, /^Imported: 3 records, 1 new, 0 there already, 2 failed$/m)
  assert.match(done.err, /Error: 2 rows failed\. \S+\.failed\.ndjson has them/)
  assert.deepEqual(readdirSync(folder), ['keys.csv', 'keys.csv.failed.ndjson'])
  assert.equal(statSync(failedPath()).mode & 0o777, 0o600)
  assert.deepEqual(
    failedRows().map(({ record, digest, external_id }) => [record, digest, external_id]),
    [
      [2, undefined, 'org_b'],
      [3, digestOf('c'), undefined],
    ],
  )
  assert.equal((await verify(keyOf('a')))?.valid, true)
  assert.ok(
    !(tried.out + done.out + done.err + bodies + readFileSync(failedPath())).includes('5uQ2vXc8LmZ1tRb7YwKd'),
  )
})

test('the file of failed rows can be imported when it is corrected, and is not written over', async () => {
  writeFileSync(file, `key,external_id\n${keyOf('a')},\n`)
  await plain('--yes', '--skip-invalid').ended
  const again = await plain('--yes', '--skip-invalid').ended
  assert.equal(again.code, 1)
  assert.match(again.err, /has rows of an earlier import that failed/)
  const [row] = failedRows()
  writeFileSync(failedPath(), `${JSON.stringify({ ...row, external_id: 'org_a' })}\n`)
  const done = await start('import', failedPath(), '--env', 'live', '--create-tenants', '--yes', '--json')
    .ended
  assert.equal(done.code, 0, done.err)
  assert.deepEqual(JSON.parse(done.out), {
    records: 1,
    created: 1,
    existing: 0,
    inactive: 0,
    ended: 0,
    others: 0,
    failed: 0,
  })
  assert.equal((await verify(keyOf('a')))?.valid, true)
})

test('an import that was killed goes on where it stopped, with each row once', async () => {
  writeFileSync(file, `${tableOf(2_500)}${keyOf('late')},\n`.replace('org_7\n', '\n'))
  holdAfter(2_000)
  const killed = plain('--yes', '--skip-invalid')
  await until(() => relay.held > 0, 'a later call is held')
  await kill(killed)
  assert.ok(!killed.output.err.includes('\r'), 'without a terminal there is no bar')
  assert.deepEqual([progress().records, progress().failed, progress().total], [2_000, 1, 2_501])
  assert.equal(statSync(`${file}.progress`).mode & 0o777, 0o600)
  assert.ok(!readFileSync(`${file}.progress`, 'utf8').includes('5uQ2vXc8LmZ1tRb7YwKd'))
  relay.isHeld = () => false

  const text = readFileSync(file)
  writeFileSync(file, `${text}${keyOf('more')},org_1\n`)
  assert.match((await plain('--yes').ended).err, /Error: \S+: The file has changed since its import began\./)
  writeFileSync(file, text)
  const other = await start('import', file, '--env', 'test', '--format', 'plain', '--yes').ended
  assert.match(other.err, /Its import began with another --env\./)
  assert.match((await plain('--dry-run').ended).err, /has begun\. Run it without --dry-run/)
  renameSync(failedPath(), `${file}.away`)
  assert.match((await plain('--yes').ended).err, /failed\.ndjson is missing, or is shorter/)
  renameSync(`${file}.away`, failedPath())
  writeFileSync(failedPath(), `${readFileSync(failedPath())}{"rec`)

  const done = await plain().ended
  assert.match(done.err, /^Goes on behind record 2000\.$/m)
  assert.match(done.out, /^Imported: 2501 records, 2499 new, 0 there already, 2 failed$/m)
  assert.deepEqual(
    failedRows().map(({ record }) => record),
    [8, 2_501],
  )
  assert.ok(!existsSync(`${file}.progress`))
  const lines = await exported()
  assert.equal(lines.length, 2_500)
  assert.equal(new Set(lines.map(line => JSON.parse(line).digest)).size, 2_500, 'and the last line')
})

test('Ctrl-C stops an import between two calls, and the same command goes on', async () => {
  writeFileSync(file, tableOf(1_500))
  holdAfter(1_000)
  const running = plain('--yes')
  await until(() => relay.held > 0, 'a later call is held')
  running.child.kill('SIGINT')
  const stopped = await running.ended
  assert.equal(stopped.code, 130, stopped.err)
  assert.match(stopped.err, /Stopped behind record 1000\. The same command goes on there\./)
  relay.isHeld = () => false
  const done = await plain().ended
  assert.equal(done.code, 0, done.err)
  assert.match(done.out, /^Imported: 1500 records, 1500 new, 0 there already, 0 failed$/m)
  assert.deepEqual(readdirSync(folder), ['keys.csv'])
})

test('a row that the service cannot read costs itself, not its call', async () => {
  const rows = [1, 2, 3].map(at => ({ digest: digestOf(at), external_id: `org_${at}`, meta: {} as object }))
  Object.assign(rows[1] ?? {}, { meta: { note: '\u0000' } })
  writeFileSync(file, rows.map(row => JSON.stringify(row)).join('\n'))
  const done = await start('import', file, '--env', 'live', '--create-tenants', '--yes', '--skip-invalid')
    .ended
  assert.match(done.out, /^Imported: 3 records, 2 new, 0 there already, 1 failed$/m)
  assert.deepEqual(
    failedRows().map(({ record }) => record),
    [2],
  )
})

test('an export that was killed goes on behind its last key, and is whole or has another name', async () => {
  writeFileSync(file, tableOf(2_500))
  assert.equal((await plain('--yes').ended).code, 0)
  const whole = await exported()
  const path = join(folder, 'keys.ndjson')
  relay.answerBytesMost = 500_000
  const killed = start('export', path)
  await until(() => relay.held > 0 && statSync(`${path}.partial`).size > 0, 'a part is written')
  await kill(killed)
  assert.ok(!existsSync(path))
  writeFileSync(`${path}.partial`, `${readFileSync(`${path}.partial`)}{"object":"exported_k`)
  relay.answerBytesMost = Number.POSITIVE_INFINITY
  const other = await start('export', path, '--env', 'live').ended
  assert.match(other.err, /partial is of another export/)
  const mark = readFileSync(`${path}.partial.of`, 'utf8')
  writeFileSync(`${path}.partial.of`, mark.replace(/ .*/, ' 2020-01-01T00:00:00.000Z'))
  assert.match((await start('export', path).ended).err, /begun more than an hour ago/)
  writeFileSync(`${path}.partial.of`, mark)
  const done = await start('export', path).ended
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /^Goes on behind key \d{4}\.$/m)
  assert.match(done.out, /^2500 keys are in /)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(readFileSync(path, 'utf8').trimEnd().split('\n'), whole)
  assert.deepEqual(whole.at(-1), '{"object":"export_end","count":2500}')
  assert.match((await start('export', path).ended).err, /keys\.ndjson exists\./)
})

test('what is missing or wrong is said, and ends with 1', async () => {
  writeFileSync(file, 'key,external_id\n')
  for (const [args, fault] of [
    [['--project', 'payments', '--env', 'live'], /--project is the id of a project/],
    [['--project', projectId, '--env', 'both'], /--env is live or test/],
    [['--project', projectId, '--env', 'live', '--format', 'excel'], /--format is one of keyrail, plain, /],
    [
      ['--project', '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11', '--env', 'live', '--from', 'x'],
      /--from is the id/,
    ],
  ] as const) {
    const { code, err } = await installation.start(['keys', 'import', file, ...args], {
      KEYRAIL_URL: service.url,
      KEYRAIL_SECRET_KEY: secretKey,
    }).ended
    assert.equal(code, 1)
    assert.match(err, fault)
  }
  assert.match((await start('import', folder, '--env', 'live').ended).err, /is no file/)
})

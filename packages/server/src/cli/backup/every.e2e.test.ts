import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { testCluster } from '../../../test/database.ts'
import {
  comparable,
  contentsOf,
  freshDatabase,
  query,
  untilUsesAreRecorded,
} from '../../../test/dump-contents.ts'
import { freePort } from '../../../test/free-port.ts'
import { startHarness } from '../../../test/harness.ts'
import { Installation, urlOf } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'
import { issueKey, makeVendor } from '../../../test/vendor.ts'
import { makeOwnKey } from '../../platform/db/dump/age.ts'
import { restore } from '../../restore.ts'

const source = await startHarness()
await issueKey(source, await makeVendor(source))
await untilUsesAreRecorded(source.connection)
const scratchName = `${source.connection.database}_backup_check`
const { identity, recipient } = await makeOwnKey([])

const installation = new Installation({ DATABASE_URL: urlOf(source.connection) })
after(() => installation.remove())
let folders = 0
const newFolder = () => {
  folders += 1
  const path = join(installation.place.temp, `backups-${folders}`)
  mkdirSync(path)
  return path
}
const everySecond = ['--every', '1s', '--recipient', recipient]
const start = (folder: string, ...more: string[]) =>
  installation.start(['backup', folder, ...everySecond, ...more])
const isOver = async (running: ReturnType<typeof start>) => {
  running.child.kill('SIGTERM')
  return (await running.ended).code
}
const filesIn = (folder: string) =>
  readdirSync(folder)
    .filter(name => !name.startsWith('service.lock'))
    .sort()
const checkedIn = (folder: string) => filesIn(folder).filter(name => /^keyrail-\w+\.keyrail\.age$/.test(name))
const scratch = () => query(testCluster(), 'select from pg_database where datname = $1', [scratchName])

/** Holds back every backup until it is released. */
async function holdBackups() {
  const blocker = new pg.Client(source.connection)
  await blocker.connect()
  await blocker.query('begin; lock table workspaces in access exclusive mode')
  return () => blocker.end()
}

test('backups are made, checked and replaced until a signal, and say so to a monitor', async () => {
  const folder = newFolder()
  const metrics = join(installation.place.temp, 'keyrail.prom')
  const port = await freePort()
  const running = start(folder, '--keep', '1', '--metrics-file', metrics, '--metrics-port', String(port))
  await until(() => checkedIn(folder).length > 0)
  const [first = ''] = checkedIn(folder)
  await until(() => checkedIn(folder).length > 0 && !checkedIn(folder).includes(first))
  const served = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  assert.match(served, /^keyrail_backup_last_checked_timestamp_seconds [1-9]\d{9}$/m)
  assert.equal(await isOver(running), 0, running.output.err)
  const [file = '', ...more] = filesIn(folder)
  assert.deepEqual(more, [])
  assert.doesNotMatch(running.output.err, /^Error/m)
  assert.match(
    running.output.out,
    /^Backed up and checked: .*\.keyrail\.age \([\d,]+ bytes, SHA-256 \w{64}\); 1 are kept\.$/m,
  )
  assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600)
  assert.deepEqual(await scratch(), [])
  const figures = readFileSync(metrics, 'utf8')
  assert.match(figures, /^keyrail_backup_last_success_timestamp_seconds [1-9]\d{9}$/m)
  assert.match(figures, /^keyrail_backup_last_checked_timestamp_seconds [1-9]\d{9}$/m)
  assert.match(figures, /^keyrail_backup_failures_total 0$/m)
  assert.equal(statSync(metrics).mode & 0o777, 0o644)

  const target = await freshDatabase(true)
  await restore(target, join(folder, file), { identities: [identity] })
  assert.deepEqual(await contentsOf(target, comparable), await contentsOf(source.connection, comparable))
})

test('a start soon after the last backup waits, and a second one on the folder is refused', async () => {
  const folder = newFolder()
  const first = start(folder)
  await until(() => checkedIn(folder).length > 0)
  const second = await start(folder).ended
  assert.equal(second.code, 1)
  assert.match(
    second.err,
    /^Error: Another keyrail backup writes to .*\. Stop it, or use another directory\.\n$/,
  )
  assert.equal(await isOver(first), 0)
  const before = filesIn(folder)
  const rare = installation.start(['backup', folder, '--every', '6h', '--recipient', recipient])
  await until(() => /the next one begins in 6 h\.$/m.test(rare.output.out))
  assert.equal(await isOver(rare), 0)
  assert.deepEqual(filesIn(folder), before)
})

test('without a way to check backups it does not start, and says what to do', async () => {
  const cluster = testCluster()
  const owner = `owner_${process.pid}`
  const database = `owned_${process.pid}`
  for (const statement of [
    `create role ${owner} login password 'p'`,
    `grant keyrail_app to ${owner}`,
    `create database ${database} owner ${owner}`,
    `create database ${database}_check owner ${owner}`,
  ])
    await query(cluster, statement)
  after(async () => {
    await query(cluster, `drop database ${database} with (force)`)
    await query(cluster, `drop database ${database}_check with (force)`)
    await query(cluster, `drop role ${owner}`)
  })
  const url = { DATABASE_URL: urlOf({ ...cluster, database, user: owner, password: 'p' }) }
  const migrated = await installation.start(['migrate'], url).ended
  assert.equal(migrated.code, 0, migrated.err)
  const folder = newFolder()
  const refused = await installation.start(['backup', folder, ...everySecond], url).ended
  assert.equal(refused.code, 1)
  assert.match(
    refused.err,
    new RegExp(
      `^Error: Backups cannot be checked\\. .* the login ${owner} may not create one\\. Have an operator run "alter role ${owner} createdb", or give an empty database with --check-database\\.\\n$`,
    ),
  )
  assert.deepEqual(filesIn(folder), [])
  const used = await installation.start(
    ['backup', folder, ...everySecond, '--check-database', urlOf(source.connection)],
    url,
  ).ended
  assert.match(
    used.err,
    /^Error: Backups cannot be checked\. (Keyrail is running on this database|The database is not empty)/,
  )
  const given = installation.start(
    ['backup', folder, ...everySecond, '--check-database', `${database}_check`],
    url,
  )
  await until(() => checkedIn(folder).length > 0)
  assert.equal(await isOver(given), 0, given.output.err)
  assert.deepEqual(
    await query(
      { ...cluster, database: `${database}_check` },
      `select from pg_class where relnamespace = 'public'::regnamespace`,
    ),
    [],
  )
})

test('a process that is killed leaves nothing that its next start does not remove', async () => {
  const folder = newFolder()
  const release = await holdBackups()
  const killed = start(folder)
  await until(() => filesIn(folder).some(name => name.endsWith('.partial')))
  process.kill(-(killed.child.pid ?? 0), 'SIGKILL')
  await killed.ended
  assert.ok(filesIn(folder).some(name => name.endsWith('.partial')))
  await release()
  await query(testCluster(), `create database "${scratchName}"`)
  const foreign = await start(folder).ended
  assert.match(foreign.err, /There is a database ".*_backup_check", which this command did not make\./)
  await query(
    testCluster(),
    `comment on database "${scratchName}" is 'made by keyrail backup, to check a backup; it may be dropped'`,
  )
  const next = start(folder)
  await until(() => checkedIn(folder).length > 0)
  assert.equal(await isOver(next), 0)
  assert.deepEqual([filesIn(folder).filter(name => name.endsWith('.partial')), await scratch()], [[], []])
})

test('a signal while a backup is written ends at once, without a file', async () => {
  const folder = newFolder()
  const release = await holdBackups()
  const running = start(folder)
  await until(() => filesIn(folder).some(name => name.endsWith('.partial')))
  assert.equal(await isOver(running), 0)
  assert.deepEqual(filesIn(folder), [])
  await release()
})

test('a backup whose check fails stays under another name, and the next one replaces it', async () => {
  const [folder, metrics] = [newFolder(), join(installation.place.temp, 'failing.prom')]
  const check = `${scratchName}_given`
  await query(testCluster(), `create database "${check}"`)
  const release = await holdBackups()
  const args = ['--check-database', check, '--metrics-file', metrics]
  const running = start(folder, ...args)
  await until(() => filesIn(folder).some(name => name.endsWith('.partial')))
  await query(testCluster(), `drop database "${check}"`)
  await release()
  await until(() => running.output.err.includes('\n'))
  assert.match(
    running.output.err,
    /^Error: .*\.unchecked\.keyrail\.age was written, but its check failed: .* does not exist/,
  )
  await until(() => /failures_total [1-9]/.test(readFileSync(metrics, 'utf8')))
  assert.match(readFileSync(metrics, 'utf8'), /last_checked_timestamp_seconds 0\n/)
  assert.equal(await isOver(running), 1)
  assert.deepEqual(checkedIn(folder), [])
  assert.notDeepEqual(filesIn(folder), [])

  await query(testCluster(), `create database "${check}"`)
  after(() => query(testCluster(), `drop database "${check}" with (force)`))
  const repaired = start(folder, ...args)
  await until(() => checkedIn(folder).length > 0)
  await until(
    () => !filesIn(folder).some(name => name.includes('.unchecked.') && name < (checkedIn(folder)[0] ?? '')),
  )
  assert.equal(await isOver(repaired), 0)
})

test('on a full disk nothing half-written stays, older backups do, and one sentence says so', async t => {
  const folder = newFolder()
  chmodSync(folder, 0o755)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder])
  t.after(() => execFileSync('umount', ['--lazy', folder]))
  const running = start(folder)
  await until(() => checkedIn(folder).length > 0)
  const [first = ''] = checkedIn(folder)
  const filler = join(folder, 'filler')
  // Again and again: a backup under way frees space.
  await until(() => {
    try {
      writeFileSync(filler, Buffer.alloc(4096), { flag: 'a' })
    } catch {}
    return /is full/.test(running.output.err)
  })
  assert.match(
    running.output.err,
    /^Error: \S+ does not fit on its disk, which is full\. Nothing of it was kept\.$/m,
  )
  await until(() => !filesIn(folder).some(name => name.endsWith('.partial')))
  const before = checkedIn(folder)
  assert.ok(before.includes(first))
  rmSync(filler)
  await until(() => checkedIn(folder).length > before.length)
  assert.equal(await isOver(running), 0)
})

test('one backup can be checked too, and flags that do not fit are refused', async () => {
  const path = join(newFolder(), 'one.age')
  const made = await installation.start(['backup', path, '--recipient', recipient, '--check']).ended
  assert.equal(made.code, 0, made.err)
  assert.match(made.out, /\nIt was restored on trial, from the file\.\n/)
  assert.deepEqual(await scratch(), [])
  for (const [args, message] of [
    [['--every', '1h'], /--every needs --recipient/],
    [['--keep', '3'], /--keep needs --every/],
    [['--metrics-file', 'x'], /--metrics-file needs --every/],
    [['--metrics-port', '9465'], /--metrics-port needs --every/],
    [['--every', '15d', '--recipient', recipient], /Give a time such as 30m, 6h or 1d/],
    [['--every', '1h', '--recipient', recipient], /is not a directory/],
    [['--every', '1h', '--recipient', identity], /is an identity, which must stay secret/],
  ] as const) {
    const { code, err } = await installation.start(['backup', path, ...args]).ended
    assert.equal(code, 1)
    assert.match(err, message)
  }
})

test('an embedded database is checked on a second server, which leaves nothing', async () => {
  const own = new Installation()
  after(() => own.remove())
  const { child, ended } = await own.serve()
  const folder = join(own.place.temp, 'backups')
  mkdirSync(folder)
  const running = own.start(['backup', folder, ...everySecond])
  await until(() => checkedIn(folder).length > 0)
  assert.equal(await isOver(running), 0, running.output.err)
  assert.ok(!readdirSync(own.dataDir).includes('backup-check'))
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
})

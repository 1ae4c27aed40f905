import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { versionSql } from '../packages/server/src/platform/db/failover/raised.ts'
import { versionsRaisedBy } from '../packages/server/src/platform/db/failover/timeline.ts'
import { encryptionKey } from '../packages/server/test/encryption-key.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { ask, Installation, urlOf } from '../packages/server/test/installation.ts'
import { setStage } from '../packages/server/test/mail-stage.ts'
import { startPair } from '../packages/server/test/standby.ts'
import { until } from '../packages/server/test/until.ts'
import { makeVendor } from '../packages/server/test/vendor.ts'
import { documents } from './documents.ts'
import { OperatorShell, stepsOf } from './runbook-steps.ts'

/** Walks of the runbooks: each statement and command is taken from its page, and does there what the page says. */

const runbooks = documents.filter(path => path.startsWith('docs/runbooks/'))
const sqlOf = (name: string): string[] => stepsOf(name, 'sql')

test('statements that look run on a database of Keyrail', async () => {
  const { query } = await startHarness()
  const looks = runbooks.flatMap(path =>
    sqlOf(path.replace(/^.*\/|\.md$/g, '')).filter(
      text => /^select/.test(text) && !/pg_promote|resch|pg_drop/.test(text),
    ),
  )
  assert.ok(looks.length >= 7)
  for (const text of looks) await query(text)
})

test('mail stuck: the queue shows the error, and everything is sent when it is tried again', async t => {
  const { query, queue, open } = await setStage()
  const [look = '', again = ''] = sqlOf('mail-stuck')
  for (const _ of [1, 2]) await queue()
  const [first] = await query('select id from graphile_worker.jobs order by id')
  await query(
    `update graphile_worker._private_jobs set attempts = case when id = $1 then max_attempts else 3 end,
       last_error = 'EAUTH', run_at = now() + interval '5 hours'`,
    [first.id],
  )
  const seen = await query(look)
  assert.deepEqual(
    seen.map(({ attempts, max_attempts, last_error }) => [attempts, max_attempts, last_error]),
    [
      [13, 13, 'EAUTH'],
      [3, 13, 'EAUTH'],
    ],
  )
  const folder = await mkdtemp(join(tmpdir(), 'keyrail-mail-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  open(`file:${folder}`)
  const [{ count }] = await query(again)
  assert.equal(Number(count), 2)
  await query(`select pg_notify('jobs:insert', '{"count":2}')`)
  await until(async () => (await readdir(folder)).length === 2)
})

test('standby lost, then failover: changes go on without it, and the next one is promoted', async t => {
  const pair = await startPair()
  t.after(() => pair.remove())
  const [follows = '', forgo = '', drop = ''] = sqlOf('standby-lost')
  await pair.synchronous()
  assert.equal((await pair.on('primary', follows)).length, 1)
  await pair.holdBack()
  const change = pair.on('primary', 'create table changed ()')
  let isDone = false
  void change.then(() => {
    isDone = true
  })
  await until(async () => {
    const waits = await pair.on(
      'primary',
      `select from pg_stat_activity where wait_event = 'SyncRep' and query like 'create table changed%'`,
    )
    return waits.length === 1
  })
  assert.equal(isDone, false)
  for (const statement of forgo.split(';\n')) await pair.on('primary', statement)
  await change
  await pair.on('primary', drop)

  const [look = '', promote = ''] = sqlOf('failover')
  assert.equal((await pair.on('standby', look))[0].is_standby, true)
  await pair.on('standby', promote)
  assert.equal((await pair.on('standby', look))[0].is_standby, false)
})

test('point-in-time recovery: for a copy of the files a command raises every version', async () => {
  const harness = await startHarness()
  const vendor = await makeVendor(harness)
  const version = async (): Promise<number> => {
    const text = `select ${versionSql('h')} as version from policy_heads h where project_id = $1`
    return Number((await harness.query(text, [vendor.projectId]))[0].version)
  }
  const before = await version()
  const shell = new OperatorShell({
    DATABASE_URL: urlOf(harness.connection),
    SERVICE_ENCRYPTION_KEY: encryptionKey,
  })
  after(() => shell.remove())
  const [, raise = ''] = stepsOf('point-in-time-recovery', 'sh')
  const { status, stderr } = shell.run(raise)
  assert.equal(status, 0, stderr)
  assert.ok((await version()) >= before + versionsRaisedBy)
})

test('bootstrap token leaked: a restart without its file refuses it, and makes a new one', async () => {
  const installation = new Installation()
  after(() => installation.remove())
  const create = async (url: string, token: string) => {
    const body = { name: 'Acme', slug: `acme-${randomUUID().slice(0, 8)}` }
    let answer = await ask(`${url}/v1/workspaces`, { token, body })
    // On a busy machine the first connection after a start may take longer than a request waits.
    await until(async () => {
      if (answer?.status === 503) answer = await ask(`${url}/v1/workspaces`, { token, body })
      return answer?.status !== 503
    })
    return answer
  }
  const first = await installation.serve()
  const leaked = installation.token
  assert.equal((await create(first.url, leaked))?.status, 201)
  first.child.kill('SIGTERM')
  await first.ended
  const [replace = ''] = stepsOf('bootstrap-token-leaked', 'sh')
  const shell = new OperatorShell(installation.env)
  after(() => shell.remove())
  assert.equal(shell.run(replace).status, 0)
  const second = await installation.serve()
  assert.notEqual(installation.token, leaked)
  assert.equal((await create(second.url, leaked))?.status, 401)
  assert.equal((await create(second.url, installation.token))?.status, 201)
  second.child.kill('SIGTERM')
  await second.ended
})

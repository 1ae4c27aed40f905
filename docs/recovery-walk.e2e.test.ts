import assert from 'node:assert/strict'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findAccount, spawnIdentity } from '../packages/server/src/platform/db/embedded/account.ts'
import { floorSql, versionSql } from '../packages/server/src/platform/db/failover/raised.ts'
import { versionsRaisedBy } from '../packages/server/src/platform/db/failover/timeline.ts'
import { query } from '../packages/server/test/dump-contents.ts'
import { startScratchCluster } from '../packages/server/test/scratch.ts'
import { until } from '../packages/server/test/until.ts'
import { issueKey } from '../packages/server/test/vendor.ts'
import { RunbookStage } from './runbook-stage.ts'
import { OperatorShell, stepsOf } from './runbook-steps.ts'

/** The release that Debian's pgBackRest knows. */
const bin = '/usr/lib/postgresql/15/bin'

test('point-in-time recovery: pgBackRest goes back to a moment, and every version is raised', async t => {
  const account = findAccount()
  const shell = new OperatorShell({})
  const configFile = join(shell.folder, 'pgbackrest.conf')
  // In place of /etc/pgbackrest.conf; Postgres passes it on to the commands that it runs.
  const env = { PGBACKREST_CONFIG: configFile }
  const archive = 'pgbackrest --stanza=keyrail archive-push %p'
  const cluster = await startScratchCluster({
    bin,
    env,
    settings: { fsync: true, full_page_writes: true, archive_mode: true, archive_command: archive },
  })
  t.after(async () => {
    await cluster.remove()
    shell.remove()
  })
  const { connection } = cluster
  const { host, port, user, password } = connection
  const places = ['repository', 'locks', 'spool'].map(name => join(shell.folder, name))
  for (const place of places) {
    mkdirSync(place)
    chownSync(place, account.uid, account.gid)
  }
  const [repository, locks, spool] = places
  writeFileSync(
    configFile,
    `[global]\nrepo1-path=${repository}\nlock-path=${locks}\nspool-path=${spool}\nlog-level-file=off\nstart-fast=y\n` +
      `[keyrail]\npg1-path=${cluster.dataDirectory}\npg1-socket-path=${host}\npg1-port=${port}\npg1-user=${user}\npg1-database=postgres\n`,
  )
  const pgbackrest = (text: string, more: Record<string, string> = {}) => {
    const own = { ...env, PGPASSWORD: String(password), ...more }
    const { status, stdout, stderr } = shell.run(text, own, spawnIdentity(account))
    assert.equal(status, 0, stdout + stderr)
  }
  pgbackrest('pgbackrest --stanza=keyrail stanza-create')

  const stage = new RunbookStage(connection)
  await stage.start()
  const scene = await stage.makeScene()
  const kept = await issueKey(stage, scene)
  pgbackrest('pgbackrest --stanza=keyrail backup')
  const version = async () => {
    const found = await query(
      connection,
      `select ${versionSql('h')} as version, ${floorSql('h')} as floor from policy_heads h`,
    )
    return (found as { version: string; floor: string }[]).map(head => [
      Number(head.version),
      Number(head.floor),
    ])
  }
  // pgBackRest counts in seconds: a moment in the second in which the backup ended is before it.
  const second = `select extract(epoch from clock_timestamp())::bigint as now`
  const now = async () => Number(((await query(connection, second)) as { now: string }[])[0]?.now)
  const ended = await now()
  await until(async () => (await now()) > ended + 1)
  const [[before = 0] = []] = await version()
  const [{ moment }] = (await query(connection, 'select clock_timestamp()::text as moment')) as [
    { moment: string },
  ]
  const lost = await issueKey(stage, scene)
  const revoked = await stage.ask('POST', `/v1/keys/${kept.id}/revoke`, { token: scene.live, body: {} })
  assert.equal(revoked.status, 200)
  await query(connection, 'select pg_switch_wal()')

  await stage.stop()
  await cluster.stop()
  const [recover = '', raise = ''] = stepsOf('point-in-time-recovery', 'sh')
  pgbackrest(recover, { MOMENT: moment })
  await cluster.restart()

  await stage.start()
  const doctor = stage.shell.run('keyrail doctor')
  assert.equal(doctor.status, 0, doctor.stdout)
  const found = (id: string) => stage.ask('GET', `/v1/keys/${id}`, { token: scene.live })
  // Revoked after that moment: it works again.
  assert.equal((await found(kept.id)).body.revoked_at, null)
  assert.equal((await found(lost.id)).status, 404)
  const [[recovered = 0, floor] = []] = await version()
  assert.ok(recovered >= before + versionsRaisedBy && floor === recovered, `${recovered} ${floor}`)
  const chain = await stage.ask('GET', '/v1/audit_logs/chain', { token: scene.live })
  assert.equal(chain.body.valid, true)
  const raised = stage.shell.run(raise)
  assert.match(raised.stdout, /^Raised the policy version of 1 projects/)
  await stage.stop()
})

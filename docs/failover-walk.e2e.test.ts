import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection } from '../packages/server/src/platform/db/connection.ts'
import { versionsRaisedBy } from '../packages/server/src/platform/db/failover/timeline.ts'
import { urlOf } from '../packages/server/test/installation.ts'
import { startPair } from '../packages/server/test/standby.ts'
import { until } from '../packages/server/test/until.ts'
import { issueKey } from '../packages/server/test/vendor.ts'
import { RunbookStage } from './runbook-stage.ts'
import { stepsOf } from './runbook-steps.ts'

test('failover: the asynchronous standby takes over, and the lost revocation is repeated', async t => {
  const pair = await startPair()
  t.after(() => pair.remove())
  const stage = new RunbookStage(pair.connection)
  /** A step of the page in `psql`, on one server. */
  const psql = (text: string, { host, port, user, password, database }: Connection) => {
    const place = { PGHOST: `${host}`, PGPORT: `${port}`, PGUSER: `${user}`, PGPASSWORD: `${password}` }
    return stage.shell.run('psql -X -qAt -v ON_ERROR_STOP=1 -c "$STEP"', {
      ...place,
      PGDATABASE: `${database}`,
      STEP: text,
    })
  }
  /** The address runs in this process, which waits for the command: so the command gets the server to which it leads. */
  const doctorOf = (server: Connection) => stage.shell.run('keyrail doctor', { DATABASE_URL: urlOf(server) })
  const [look = '', promote = '', waits = ''] = stepsOf('failover', 'sql')
  const [, goOnAlone = ''] = stepsOf('standby-lost', 'sql')
  await stage.start({ SERVICE_REVOKE_WAIT_MS: '100' })
  const scene = await stage.makeScene()
  const { id } = await issueKey(stage, scene)
  const readiness = async () => (await stage.ask('GET', '/readyz')).status
  const read = (path: string) => stage.ask('GET', path, { token: scene.live })
  const revoke = (more = '') =>
    stage.ask('POST', `/v1/keys/${id}/revoke${more}`, { token: scene.live, body: {} })
  const version = async () => (await read(`/v1/projects/${scene.projectId}`)).body.policy_version
  assert.match(psql(look, pair.servers.primary).stdout, /^f/)

  // Throw-away servers do not wait for their disk, which the doctor would find.
  for (const name of ['fsync', 'full_page_writes']) await pair.on('standby', `alter system set ${name} = on`)
  // The settings of the old primary, under which the new one waits for a standby that is not there.
  await pair.on('standby', `alter system set synchronous_standby_names = 'gone'`)
  await pair.on('standby', 'select pg_reload_conf()')

  await pair.holdBack()
  const before = await version()
  assert.equal((await revoke()).status, 200)
  pair.killPrimary()
  await until(async () => (await readiness()) === 503)
  assert.equal((await read(`/v1/keys/${id}`)).status, 503)
  assert.notEqual(doctorOf(pair.servers.primary).status, 0)
  assert.notEqual(psql(look, pair.servers.primary).status, 0)
  assert.match(psql(look, pair.servers.standby).stdout, /^t\|\w+\/\w+/)

  const promoted = psql(promote, pair.servers.standby)
  assert.deepEqual([promoted.status, promoted.stdout], [0, 't\n'], promoted.stderr)
  pair.leadTo('standby')
  await until(() => Number(psql(waits, pair.servers.standby).stdout) > 0)
  assert.equal(await readiness(), 503)
  // Each by itself, as an operator's psql sends them: ALTER SYSTEM runs in no transaction.
  for (const statement of goOnAlone.split(/(?<=;)\n/))
    assert.equal(psql(statement, pair.servers.standby).status, 0, statement)
  await until(async () => (await readiness()) === 200)
  const doctor = doctorOf(pair.servers.standby)
  assert.equal(doctor.status, 0, doctor.stdout)
  assert.match(psql(look, pair.servers.standby).stdout, /^f/)
  assert.ok((await version()) >= before + versionsRaisedBy)

  assert.equal((await read(`/v1/keys/${id}`)).body.revoked_at, null)
  const { status, body } = await revoke('?wait=true')
  assert.deepEqual([status, body.propagation.acknowledged], [200, false])
  assert.equal(typeof (await read(`/v1/keys/${id}`)).body.revoked_at, 'string')
  assert.equal((await read('/v1/audit_logs/chain')).body.valid, true)
  await stage.stop()
})

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { setOutageStage } from '../drills/harness/outage-stage.ts'
import { outages } from '../drills/harness/outages.ts'
import { doChores } from '../packages/server/src/platform/db/upkeep.ts'
import { createLog } from '../packages/server/src/platform/observe/log.ts'
import { freshDatabase, query } from '../packages/server/test/dump-contents.ts'
import { ask, urlOf } from '../packages/server/test/installation.ts'
import { startRedis } from '../packages/server/test/redis-server.ts'
import { until } from '../packages/server/test/until.ts'
import { issueKey } from '../packages/server/test/vendor.ts'
import { RunbookStage } from './runbook-stage.ts'
import { stepsOf } from './runbook-steps.ts'

/** Walks of runbooks with a service that runs: each block is taken from its page. */

test('broken chain: the row is found, kept as evidence, compared with a backup and repaired', async () => {
  const connection = await freshDatabase(false)
  const stage = new RunbookStage(connection)
  await stage.start()
  const { workspaceId, live } = await stage.makeScene()
  const last = join(stage.shell.folder, 'last.keyrail')
  assert.equal(stage.shell.run(`keyrail backup ${last}`).status, 0)
  const tamper = async (from: string, to: string) => {
    const rows = await query(
      connection,
      `update audit_logs set payload = replace(payload, '${from}', '${to}') where payload like '%"${from}"%' returning seq::int`,
    )
    return (rows as { seq: number }[])[0]?.seq
  }
  // As an intruder does, who owns the tables.
  await query(connection, 'alter table audit_logs disable trigger user')
  const bad = await tamper('Payments', 'Forgery')
  assert.ok(bad)

  const [keep = '', look = '', copy = ''] = stepsOf('broken-chain', 'sh')
  const given = { KEYRAIL_URL: stage.url, KEYRAIL_SECRET_KEY: live }
  assert.equal(stage.shell.run(keep).status, 0)
  const verdict = stage.shell.run(look, given)
  assert.equal(verdict.status, 1)
  assert.ok(verdict.stdout.includes(`does NOT verify: hash_mismatch at seq ${bad}`), verdict.stdout)

  const scratch = await freshDatabase(true)
  const copied = stage.shell.run(copy, { SCRATCH_URL: urlOf(scratch), LAST_GOOD_BACKUP: last })
  assert.equal(copied.status, 0, copied.stderr)
  const [rows = ''] = stepsOf('broken-chain', 'sql')
  const [now, then] = [await query(connection, rows), await query(scratch, rows)] as { seq: number }[][]
  const differs = (now ?? []).filter((row, at) => JSON.stringify(row) !== JSON.stringify(then?.[at]))
  assert.deepEqual(
    differs.map(({ seq }) => Number(seq)),
    [bad],
  )
  assert.equal(await tamper('Forgery', 'Payments'), bad)
  const { status, body } = await stage.ask('GET', '/v1/audit_logs/chain', { token: live })
  assert.deepEqual([status, body.valid], [200, true], workspaceId)
  await stage.stop()
})

test('upkeep stopped: the session with the turn is found, and its end lets the next round run', async t => {
  const connection = await freshDatabase(false)
  const round = () => doChores(connection, [], createLog('silent'))
  assert.equal(await round(), true)
  // It is not called as a process of Keyrail is.
  const holder = new pg.Client({ ...connection, application_name: 'a script' })
  holder.on('error', () => {})
  t.after(() => holder.end())
  await holder.connect()
  await holder.query(`select pg_advisory_lock(hashtextextended('keyrail.upkeep', 0)), pg_advisory_lock(7)`)
  assert.equal(await round(), false)
  const [look = ''] = stepsOf('upkeep-stopped', 'sql')
  const found = (await query(connection, look)) as { pid: number; application_name: string }[]
  assert.deepEqual(
    found.map(({ application_name }) => application_name),
    ['a script'],
  )
  await query(connection, `select pg_terminate_backend(${found[0]?.pid}, 60000)`)
  assert.equal(await round(), true)
  assert.deepEqual(await query(connection, look), [])
})

test('nodes behind: the list names the node, and so does a revocation that waits for it', async () => {
  const stage = new RunbookStage(await freshDatabase(false))
  await stage.start({ SERVICE_REVOKE_WAIT_MS: '100' })
  const scene = await stage.makeScene()
  const { live, projectId } = scene
  const poll = async (since: number) =>
    (
      await stage.ask('GET', `/v1/policy/delta?project_id=${projectId}&since=${since}&node=one`, {
        token: live,
      })
    ).body.version
  const held: number = await poll(1)
  await poll(held)
  const { id } = await issueKey(stage, scene)
  const [look = ''] = stepsOf('nodes-behind', 'sh')
  const seen = () => {
    const given = { KEYRAIL_URL: stage.url, KEYRAIL_SECRET_KEY: live, PROJECT_ID: projectId }
    const { status, stdout, stderr } = stage.shell.run(look, given)
    assert.equal(status, 0, stderr)
    return JSON.parse(stdout).data.map(({ node, live, behind }: Record<string, unknown>) => [
      node,
      live,
      behind,
    ])
  }
  assert.deepEqual(seen(), [['one', true, 1]])
  const revoked = await stage.ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token: live, body: {} })
  assert.deepEqual(revoked.body.propagation.pending, ['one'])
  await poll(await poll(held))
  assert.deepEqual(seen(), [['one', true, 0]])
  await stage.stop()
})

test('Redis away: checks get 503 and come back with it, or without it after a restart', async () => {
  const redis = await startRedis()
  const stage = new RunbookStage(await freshDatabase(false))
  const withRedis = { REDIS_URL: redis.url }
  await stage.start(withRedis)
  const { live, projectId, tenantId } = await stage.makeScene()
  const limits = [{ id: 'burst', limit: 1_000, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' }]
  const body = { project_id: projectId, tenant_id: tenantId, env: 'live', limits }
  const check = async () => (await stage.ask('POST', '/v1/ratelimit/check', { token: live, body })).status
  const [look = ''] = stepsOf('redis-away', 'sh')
  assert.match(stage.shell.run(look, withRedis).stdout, /^PONG\n/)
  await until(async () => (await check()) === 200)

  await redis.kill()
  await until(async () => (await check()) === 503)
  assert.equal((await stage.ask('GET', '/v1/keys', { token: live })).status, 200)
  const page = readFileSync(new URL('runbooks/redis-away.md', import.meta.url), 'utf8')
  const [away = '', again = ''] = [...page.matchAll(/`(Redis [^`]+)`/g)].map(([, line]) => line)
  await until(() => stage.log.includes(away))
  assert.notEqual(stage.shell.run(look, withRedis).status, 0)

  await redis.start()
  await until(async () => (await check()) === 200)
  await until(() => stage.log.includes(again))

  await redis.kill()
  await stage.stop()
  await stage.start()
  await until(async () => (await check()) === 200)
  await stage.stop()
})

test('disk full: changes get 503 and reads go on, until there is room again', async t => {
  const stage = await setOutageStage(true)
  t.after(() => stage.close())
  const [{ live } = assert.fail()] = stage.scenes
  const create = async () => {
    const body = { external_id: `org-${process.hrtime.bigint()}` }
    return (await ask(`${stage.service.url}/v1/tenants`, { token: live, body }))?.status
  }
  const read = async () => (await ask(`${stage.service.url}/v1/tenants`, { token: live }))?.status
  assert.equal(await create(), 201)
  const end = await outages['disk full']?.begin(stage)
  await until(async () => (await create()) === 503)
  await end?.()
  await until(async () => (await create()) === 201)
  await until(async () => (await read()) === 200)
  const client = await stage.reconnect()
  for (const look of stepsOf('disk-full', 'sql')) assert.ok((await client.query(look)).rows.length > 0)
})

test('refused key: it is explained by id, by itself, with scopes, and for another time', async () => {
  const stage = new RunbookStage(await freshDatabase(false))
  await stage.start()
  const { live, projectId, tenantId } = await stage.makeScene()
  const body = { project_id: projectId, tenant_id: tenantId, env: 'live' }
  const { id, key } = (await stage.ask('POST', '/v1/keys', { token: live, body })).body
  const file = join(stage.shell.folder, 'key')
  writeFileSync(file, key)
  const given = {
    KEYRAIL_URL: stage.url,
    KEYRAIL_SECRET_KEY: live,
    KEY_ID: id,
    KEY_FILE: file,
    AN_HOUR_AGO: new Date(Date.now() - 3_600_000).toISOString(),
  }
  const said = stepsOf('refused-key', 'sh').map(command => stage.shell.run(command, given).stdout)
  for (const [at, verdict] of [
    'accepted',
    'accepted',
    'refused: insufficient_scope',
    'refused: unknown_key',
  ].entries())
    assert.ok(said[at]?.startsWith(`${verdict} at `), said[at])
  assert.equal(said.length, 4)
  await stage.stop()
})

import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { makeDatabase, type TestDatabase, testCluster } from '../../../test/database.ts'
import { isRoot } from '../../../test/embedded-service.ts'
import { ask, Installation, looksLikeStack, urlOf } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'

describe('keyrail serve on the embedded Postgres', () => {
  let installation: Installation
  before(() => {
    installation = new Installation()
  })
  after(() => installation.remove())

  test('SIGUSR2 turns debug on and off again, and the service goes on', async () => {
    const { url, output, child, ended } = await installation.serve()
    const changes = () => [...output.out.matchAll(/"log_level":"(\w+)"/g)].map(([, level]) => level)
    child.kill('SIGUSR2')
    await until(() => changes().includes('debug'))
    assert.equal((await ask(`${url}/readyz`))?.status, 200)
    child.kill('SIGUSR2')
    await until(() => changes().includes('info'))
    child.kill('SIGTERM')
    assert.equal((await ended).code, 0)
  })

  test('the token is made once, in a file of mode 0600; a pipe only gets its path', async () => {
    const path = join(installation.dataDir, 'bootstrap-token')
    const body = { name: 'Acme', slug: 'acme' }
    const first = await installation.serve()
    const { token } = installation
    assert.ok(token.length >= 32)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal((await ask(`${first.url}/v1/workspaces`, { token, body }))?.status, 201)
    first.child.kill('SIGTERM')
    await first.ended
    const { url, output, child, ended } = await installation.serve()
    assert.equal(installation.token, token)
    assert.ok(output.out.includes(`Bootstrap token: in ${path}`))
    assert.ok(!(output.out + output.err).includes(token))
    const answer = await ask(`${url}/v1/workspaces`, { token, body })
    assert.equal(answer?.body.code, 'slug_taken', 'the workspace of the first start still exists')
    child.kill('SIGTERM')
    await ended
  })

  test('a terminal shows the new token, once', async () => {
    const fresh = new Installation()
    // script(1) gives the command its own terminal.
    const serve = `"${process.execPath}" bin/keyrail.mjs serve`
    const shown = fresh.run('script', ['-qec', serve, '/dev/null'])
    await until(() => shown.output.out.includes('Ctrl-C stops it.'))
    assert.ok(shown.output.out.includes(fresh.token))
    process.kill(fresh.servicePid(), 'SIGTERM')
    await shown.ended
    const again = fresh.run('script', ['-qec', serve, '/dev/null'])
    await until(() => again.output.out.includes('Ctrl-C stops it.'))
    assert.ok(!again.output.out.includes(fresh.token))
    process.kill(fresh.servicePid(), 'SIGTERM')
    await again.ended
    await fresh.remove()
  })

  test('SERVICE_BOOTSTRAP_TOKEN replaces the file', async () => {
    const token = 'a-token-of-the-operator-0123456789'
    const { url, child, ended } = await installation.serve({ SERVICE_BOOTSTRAP_TOKEN: token })
    const body = { name: 'Other', slug: 'other' }
    assert.equal((await ask(`${url}/v1/workspaces`, { token: installation.token, body }))?.status, 401)
    assert.equal((await ask(`${url}/v1/workspaces`, { token, body }))?.status, 201)
    child.kill('SIGTERM')
    await ended
  })

  test('a damaged token file stops the start with what to do, and leaves no Postgres running', async () => {
    const damaged = new Installation()
    await damaged.start(['migrate']).ended
    writeFileSync(join(damaged.dataDir, 'bootstrap-token'), 'short\n')
    const { code, err } = await damaged.start(['serve']).ended
    assert.equal(code, 1)
    assert.match(err, /bootstrap-token must hold one token .* Remove the file/)
    assert.deepEqual(damaged.postgresPids(), [])
    await damaged.remove()
  })

  test('a second service on the same data is refused with the pid of the first', async () => {
    const first = await installation.serve()
    const { code, err } = await installation.start(['serve']).ended
    assert.equal(code, 1)
    assert.match(err, new RegExp(`Process ${installation.servicePid()} already runs Keyrail on `))
    assert.ok(!looksLikeStack(err), err)
    assert.equal((await ask(`${first.url}/readyz`))?.status, 200)
    first.child.kill('SIGTERM')
    assert.equal((await first.ended).code, 0)
  })

  test('a port in use ends the start with the setting to change, and stops Postgres', async () => {
    const holder = createServer()
    const taken = await new Promise<number>(resolve =>
      holder.listen(0, '127.0.0.1', () => resolve((holder.address() as { port: number }).port)),
    )
    for (const setting of ['SERVICE_PORT', 'SERVICE_METRICS_PORT']) {
      const { code, out, err } = await installation.start(['serve'], { [setting]: String(taken) }).ended
      assert.equal(code, 1)
      assert.match(err, new RegExp(`127.0.0.1:${taken} is in use by another program.*with ${setting} `))
      assert.ok(!looksLikeStack(out + err), out + err)
      assert.deepEqual(installation.postgresPids(), [])
    }
    holder.close()
  })

  test('every configuration fault is reported at once, and unknown names are warnings', async () => {
    const { code, out, err } = await installation.start(['serve'], {
      SERVICE_PORT: 'eighty',
      SERVICE_LOG_LEVEL: 'loud',
      SERVICE_BOOTSTRAP_TOKEN: 'too-short-a-token',
      DATABASE_URL: 'mysql://nowhere',
    }).ended
    assert.equal(code, 1)
    for (const name of ['SERVICE_PORT', 'SERVICE_LOG_LEVEL', 'SERVICE_BOOTSTRAP_TOKEN', 'DATABASE_URL'])
      assert.match(err, new RegExp(`- ${name} must `))
    assert.ok(!err.includes('too-short-a-token'), 'a secret is never quoted')
    assert.ok(!looksLikeStack(out + err), out + err)

    const running = await installation.serve({ SERVICE_PROT: '1' })
    assert.match(running.output.err, /Warning: SERVICE_PROT is not a setting; did you mean SERVICE_PORT\?/)
    running.child.kill('SIGTERM')
    await running.ended
  })
})

describe('keyrail serve on an outside Postgres', () => {
  let installation: Installation
  let database: TestDatabase
  before(async () => {
    database = await makeDatabase(testCluster(), true)
    installation = new Installation({ DATABASE_URL: urlOf(database.connection) })
  })
  after(async () => {
    await installation.remove()
    await database.drop()
  })
  const run = async (...statements: string[]) => {
    const client = new pg.Client(database.connection)
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }

  test('it migrates, listens and explains how to get in; no embedded Postgres starts', async () => {
    const { url, output, child, ended } = await installation.serve()
    // On a busy machine its first connection may take longer than a probe waits.
    await until(async () => (await ask(`${url}/readyz`))?.status === 200)
    assert.match(output.out, /Bootstrap token: none; set SERVICE_BOOTSTRAP_TOKEN/)
    assert.match(output.out, /keyrail secret-keys create --workspace ID --env live --role owner/)
    const guess = { token: 'x'.repeat(40), body: { name: 'Acme', slug: 'acme' } }
    assert.equal((await ask(`${url}/v1/workspaces`, guess))?.status, 401)
    assert.deepEqual(installation.postgresPids(), [])
    if (isRoot) assert.match(output.out, /^Runs as: user id 0, with no capability but dac_override: /m)
    child.kill('SIGTERM')
    assert.equal((await ended).code, 0)
  })

  test('a missing database and a refused login end the start with the reason', async () => {
    const { host, port, user } = database.connection
    const cases: [url: string, reason: RegExp][] = [
      [urlOf({ ...database.connection, database: 'absent' }), /The database "absent" does not exist at /],
      [
        `postgres:///x?host=${host}&port=${port}&user=${user}&password=very-wrong`,
        /refuses the user .*: password/,
      ],
    ]
    for (const [url, reason] of cases) {
      const { code, out, err } = await installation.start(['serve'], { DATABASE_URL: url }).ended
      assert.equal(code, 1, url)
      assert.match(err, reason)
      assert.ok(!looksLikeStack(out + err), out + err)
      assert.ok(!err.includes('very-wrong'), 'a password is never quoted')
    }
  })

  test('a Postgres older than 15 is refused with its version', async () => {
    await run(
      'create schema old',
      `create function old.current_setting(name text) returns text language sql as $$
         select case name when 'server_version' then '14.9' when 'server_version_num' then '140009'
           else pg_catalog.current_setting(name) end $$`,
      `alter database ${database.connection.database} set search_path = old, pg_catalog, public`,
    )
    const { code, err } = await installation.start(['serve']).ended
    assert.equal(code, 1)
    assert.match(err, /The database is Postgres 14\.9; Keyrail needs 15 or later\. Upgrade it/)
    await run(`alter database ${database.connection.database} reset search_path`)
  })
})

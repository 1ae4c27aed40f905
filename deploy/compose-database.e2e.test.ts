import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { examine } from '../packages/server/test/examine.ts'
import { ask, Installation, root } from '../packages/server/test/installation.ts'
import { startScratchCluster } from '../packages/server/test/scratch.ts'

const token = 'z'.repeat(32)

async function run(place: string | pg.ClientConfig, text: string) {
  const client = new pg.Client(place)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

test('the database that compose makes is migrated by one login and served by another', async () => {
  const place = mkdtempSync(join(tmpdir(), 'keyrail-compose-'))
  const cluster = await startScratchCluster({ settings: { fsync: true, full_page_writes: true } })
  const { host, port } = cluster.connection
  const installation = new Installation({ DATABASE_URL: 'unset', SERVICE_DASHBOARD: 'off' })
  after(async () => {
    await installation.remove()
    await cluster.remove()
    rmSync(place, { recursive: true, force: true })
  })

  const superuser = {
    ...cluster.connection,
    user: 'postgres',
    database: 'postgres',
    password: 'of the image',
  }
  await run(cluster.connection, `create role postgres superuser login password 'of the image'`)
  // A new volume of the image has no other role and no other database.
  await run(superuser, 'alter role keyrail rename to scratch')
  await run(superuser, 'alter database keyrail rename to scratch')

  copyFileSync(join(root, 'deploy/make-secrets.sh'), join(place, 'make-secrets.sh'))
  assert.equal(spawnSync('sh', [join(place, 'make-secrets.sh')]).status, 0)
  const secrets = join(place, 'secrets')
  // Where the image of Postgres mounts them.
  const shipped = readFileSync(join(root, 'deploy/postgres/make-database.sh'), 'utf8')
  assert.ok(shipped.includes('/run/secrets/'))
  const script = join(place, 'make-database.sh')
  writeFileSync(script, shipped.replaceAll('/run/secrets/', `${secrets}/`))
  const made = spawnSync('bash', [script], {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      PGHOST: `${host}`,
      PGPORT: `${port}`,
      PGPASSWORD: superuser.password,
    },
  })
  assert.equal(made.status, 0, made.stderr)

  /** The URL of a secret, which names the server as compose does. */
  const urlIn = (name: string) => {
    const url = new URL(readFileSync(join(secrets, name), 'utf8').trim())
    assert.equal(url.host, 'postgres:5432')
    return `postgres://${url.username}:${url.password}@${url.pathname}?host=${host}&port=${port}`
  }
  const [owner, service] = [{ DATABASE_URL: urlIn('owner-url') }, { DATABASE_URL: urlIn('database-url') }]
  const migrated = await installation.start(['migrate'], owner).ended
  assert.equal(migrated.code, 0, migrated.err)

  const serving = await installation.serve({ ...service, SERVICE_BOOTSTRAP_TOKEN: token })
  const body = { name: 'Acme', slug: 'acme' }
  assert.equal((await ask(`${serving.url}/v1/workspaces`, { token, body }))?.status, 201)
  const { code, found } = await examine(installation, service)
  assert.deepEqual([code, found('roles')?.status, found('login')?.status], [0, 'ok', 'ok'])
  await assert.rejects(run(service.DATABASE_URL, 'delete from audit_logs'), { code: '42501' })

  const recipient = spawnSync('age-keygen', { encoding: 'utf8' }).stdout.match(/age1\w+/)?.[0] ?? ''
  const flags = ['--recipient', recipient, '--check', '--check-database', 'keyrail_check']
  const backup = await installation.start(['backup', join(place, 'one.age'), ...flags], owner).ended
  assert.equal(backup.code, 0, backup.err)
  serving.child.kill('SIGTERM')
  assert.equal((await serving.ended).code, 0)
})

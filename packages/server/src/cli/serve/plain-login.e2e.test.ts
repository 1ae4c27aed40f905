import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { examine } from '../../../test/examine.ts'
import { ask, Installation, urlOf } from '../../../test/installation.ts'
import { type ScratchCluster, startScratchCluster } from '../../../test/scratch.ts'
import { rolesSql } from '../../platform/db/roles/roles.ts'

const token = 'z'.repeat(32)

/** Roles belong to the whole cluster, so this has its own. */
describe('a login as a managed Postgres gives it: no superuser, and owner of its database alone', () => {
  let cluster: ScratchCluster
  before(async () => {
    cluster = await startScratchCluster({ settings: { fsync: true, full_page_writes: true } })
  })
  after(() => cluster.remove())

  const run = async (...statements: string[]) => {
    const client = new pg.Client(cluster.connection)
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }

  const cases = [
    ['may create no roles, and an operator has run the SQL', 'tenant', 'nocreaterole', rolesSql('tenant')],
    ['may create roles', 'admin', 'createrole createdb', 'drop database tenant; drop role keyrail_app'],
  ] as const
  for (const [title, name, rights, first] of cases)
    test(`one that ${title}: it migrates, serves, and nothing is found wrong`, async () => {
      await run(
        `create role ${name} login ${rights} password 'secret'`,
        `create database ${name} owner ${name}`,
      )
      for (const statement of first.split(';')) await run(statement)
      const connection = { ...cluster.connection, user: name, password: 'secret', database: name }
      const installation = new Installation({ DATABASE_URL: urlOf(connection), SERVICE_DASHBOARD: 'off' })
      try {
        const { code, err } = await installation.start(['migrate']).ended
        assert.equal(code, 0, err)
        const serving = await installation.serve({ SERVICE_BOOTSTRAP_TOKEN: token })
        const body = { name: 'Acme', slug: 'acme' }
        const made = await ask(`${serving.url}/v1/workspaces`, { token, body })
        assert.equal(made?.status, 201)
        const owner = { token: made?.body.secret_key.key }
        assert.equal((await ask(`${serving.url}/v1/audit_logs/chain`, owner))?.body.valid, true)
        const { checks } = await examine(installation)
        assert.deepEqual(
          checks.filter(({ status }) => status === 'fault'),
          [],
        )
        serving.child.kill('SIGTERM')
        assert.equal((await serving.ended).code, 0)
      } finally {
        await installation.remove()
      }
    })
})

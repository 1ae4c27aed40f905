import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { type ScratchCluster, startScratchCluster } from '../../../../test/scratch.ts'
import { openTestPool } from '../../../../test/stores.ts'
import { type Connection, sql } from '../connection.ts'
import { unbound } from '../db.ts'
import { migrate } from '../migrate/migrate.ts'
import { rolesReady, rolesSql } from './roles.ts'

/** Roles belong to the whole cluster, so this uses a cluster without `keyrail_app`. */
describe('the role that requests drop to', () => {
  let cluster: ScratchCluster
  before(async () => {
    cluster = await startScratchCluster()
  })
  after(() => cluster.remove())

  const run = async <T>(connection: Connection, work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client(connection)
    await client.connect()
    return await work(client).finally(() => client.end())
  }
  /** Makes a user with a database of the same name. */
  async function makeUser(name: string, options = ''): Promise<Connection> {
    await run(cluster.connection, async client => {
      await client.query(`create role ${name} login password 'secret' ${options}`)
      await client.query(`create database ${name} owner ${name}`)
    })
    return { ...cluster.connection, user: name, password: 'secret', database: name }
  }
  const roleInTransaction = async (connection: Connection) => {
    const pool = openTestPool(connection, 1)
    const ask = sql('test.who', 'select current_user as name')
    const rows = await pool
      .bind(unbound)
      .inWorkspace('00000000-0000-4000-8000-000000000000', tx => tx.query<{ name: string }>(ask))
      .finally(() => pool.close())
    return rows[0]?.name
  }

  test('a user that may not create it gets the SQL for an operator, which works', async () => {
    const plain = await makeUser('plain')
    await assert.rejects(migrate(plain), (error: Error) => error.message.includes(rolesSql('plain')))
    assert.equal(await run(plain, rolesReady), false)
    await run(cluster.connection, client => client.query(rolesSql('plain')))
    await migrate(plain)
    assert.equal(await roleInTransaction(plain), 'keyrail_app')
    await run(cluster.connection, async client => {
      await client.query('drop database plain')
      await client.query('drop role keyrail_app')
    })
  })

  test('a user that may create roles, without being superuser, creates it and may become it', async () => {
    const creator = await makeUser('creator', 'createrole')
    await migrate(creator)
    assert.equal(await roleInTransaction(creator), 'keyrail_app')
  })
})

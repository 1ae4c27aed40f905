import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { bootstrapToken, startHarness } from '../../../test/harness.ts'
import { answerOnce, issueKey, makeVendor, spendOnce } from '../../../test/vendor.ts'
import { removeWorkspace, workspaceTables } from './workspace-removal.ts'

const house = await startHarness()

describe('removing a workspace for good', () => {
  const client = new pg.Client(house.connection)
  before(() => client.connect())
  after(() => client.end())

  const tablesOfWorkspaces = async () => {
    const rows = await house.query(
      `select c.table_name as name from information_schema.columns c join information_schema.tables t
         using (table_schema, table_name)
       where c.column_name = 'workspace_id' and c.table_schema = 'public' and t.table_type = 'BASE TABLE'`,
    )
    return rows.map(row => row.name as string)
  }
  const countRows = async (workspaceId: string) => {
    const counts: Record<string, number> = {}
    for (const table of await tablesOfWorkspaces()) {
      const [row] = await house.query(`select count(*) as n from ${table} where workspace_id = $1`, [
        workspaceId,
      ])
      counts[table] = row.n
    }
    return counts
  }

  test('every table that has a workspace_id is in the list, and no other', async () => {
    assert.deepEqual((await tablesOfWorkspaces()).sort(), workspaceTables.toSorted())
  })

  test('nothing of it is left in any table, and nothing of another workspace is touched', async () => {
    const slug = 'to-be-removed'
    const created = await house.ask('POST', '/v1/workspaces', {
      token: bootstrapToken,
      headers: { 'idempotency-key': 'removed-later' },
      body: { name: 'Acme', slug, billing_email: 'billing@example.com' },
    })
    const [doomed, kept] = [await makeVendor(house), await makeVendor(house)]
    for (const vendor of [doomed, kept]) {
      await spendOnce(house, vendor)
      await answerOnce(house, vendor)
      const key = await issueKey(house, vendor)
      await house.ask('POST', `/v1/keys/${key.id}/rotate`, {
        token: vendor.live,
        headers: { 'idempotency-key': 'once' },
        body: {},
      })
      await house.ask('PATCH', '/v1/workspace', {
        token: vendor.live,
        body: { billing_email: 'billing@example.com' },
      })
      const query = `project_id=${vendor.projectId}&since=1&node=one`
      await house.ask('GET', `/v1/policy/delta?${query}`, { token: vendor.live })
    }
    const before = await countRows(kept.workspaceId)
    const empty = Object.entries(before).filter(([, n]) => n === 0)
    assert.deepEqual(empty, [], 'the test puts rows into every table')

    const removed = await removeWorkspace(client, doomed.workspaceId)
    assert.deepEqual(Object.keys(removed ?? {}).sort(), [...workspaceTables, 'workspaces'].sort())
    for (const [table, n] of Object.entries(await countRows(doomed.workspaceId))) assert.equal(n, 0, table)
    assert.deepEqual(await house.query('select id from workspaces where id = $1', [doomed.workspaceId]), [])
    assert.deepEqual(await countRows(kept.workspaceId), before)

    await removeWorkspace(client, created.body.id)
    const answers = await house.query(`select body from replays where body::text like $1`, [`%${slug}%`])
    assert.deepEqual(answers, [], 'nor is the answer to its creation')
    const again = { token: bootstrapToken, body: { name: 'Acme', slug } }
    assert.equal((await house.ask('POST', '/v1/workspaces', again)).status, 201)
  })

  test('one that is not there is told apart', async () => {
    assert.equal(await removeWorkspace(client, '01890000-0000-7000-8000-000000000000'), null)
  })

  test('against mutations that go on meanwhile it wins, and they are refused in order', async () => {
    const vendor = await makeVendor(house)
    const key = await issueKey(house, vendor)
    let stopped = false
    const statuses = new Set<number>()
    const workers = [1, 2, 3, 4].map(async () => {
      while (!stopped) {
        const { status } = await house.ask('POST', `/v1/keys/${key.id}/rotate`, {
          token: vendor.live,
          body: {},
        })
        statuses.add(status)
      }
    })
    assert.notEqual(await removeWorkspace(client, vendor.workspaceId), null)
    const gone = await house.ask('GET', '/v1/workspace', { token: vendor.live })
    assert.equal(gone.status, 401)
    stopped = true
    await Promise.all(workers)
    for (const status of statuses) assert.ok([200, 401, 404, 409, 503].includes(status), String(status))
    for (const [table, n] of Object.entries(await countRows(vendor.workspaceId))) assert.equal(n, 0, table)
  })
})

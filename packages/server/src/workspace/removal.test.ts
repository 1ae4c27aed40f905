import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import pg from 'pg'
import { changeManyOnce } from '../../test/bulks.ts'
import { bootstrapToken, startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { answerOnce, endOnce, issueKey, leakOnce, makeVendor, spendOnce, useOnce } from '../../test/vendor.ts'
import { removeLoose, removeWorkspace, workspaceTables } from './removal.ts'

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

  test('no table has the workspace any more, and other workspaces are not changed', async () => {
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
      await useOnce(house, vendor)
      await leakOnce(house, vendor)
      await endOnce(house, vendor)
      await changeManyOnce(house, vendor)
      const key = await issueKey(house, vendor)
      await house.ask('POST', `/v1/keys/${key.id}/rotate`, {
        token: vendor.live,
        headers: { 'idempotency-key': 'once' },
        body: {},
      })
      await house.ask('PATCH', `/v1/tenants/${vendor.tenantId}`, {
        token: vendor.live,
        body: { name: 'New Name' },
      })
      await house.ask('PATCH', '/v1/workspace', {
        token: vendor.live,
        body: { billing_email: 'billing@example.com' },
      })
      await house.query(
        `insert into workspace_members (workspace_id, user_id, role, joined_at) values ($1, $1, 'owner', service_now())`,
        [vendor.workspaceId],
      )
      await house.query(
        `insert into workspace_invites (workspace_id, id, email, address_key, role, digest, created_at, expires_at)
         values ($1, $1, 'a@example.com', 'a@example.com', 'member', sha256('a'), service_now(), service_now())`,
        [vendor.workspaceId],
      )
      const query = `project_id=${vendor.projectId}&since=1&node=one`
      await house.ask('GET', `/v1/policy/delta?${query}`, { token: vendor.live })
    }
    await house.deps.workspaceLoads.flush()
    const before = await countRows(kept.workspaceId)
    const empty = Object.entries(before).filter(([, n]) => n === 0)
    assert.deepEqual(empty, [], 'the test puts rows into every table')

    const removed = await removeWorkspace(client, doomed.workspaceId)
    assert.deepEqual(Object.keys(removed ?? {}).sort(), [...workspaceTables, 'workspaces'].sort())
    for (const [table, n] of Object.entries(await countRows(doomed.workspaceId))) assert.equal(n, 0, table)
    assert.deepEqual(await house.query('select id from workspaces where id = $1', [doomed.workspaceId]), [])
    assert.deepEqual(await countRows(kept.workspaceId), before)

    // The event of its removal belongs to no workspace: one for the operator, and one for each former member.
    const events = await house.query(
      `select user_id, details, substring(id::text from 15 for 1) as version from security_events
       where kind = 'workspace_deleted' order by user_id nulls first`,
    )
    assert.deepEqual(
      events.map(({ user_id, details, version }) => [user_id, details.workspace_id, version]),
      [
        [null, doomed.workspaceId, '7'],
        [doomed.workspaceId, doomed.workspaceId, '7'],
      ],
    )

    await removeWorkspace(client, created.body.id)
    const answers = await house.query(`select body from replays where body::text like $1`, [`%${slug}%`])
    assert.deepEqual(answers, [], 'nor is the response to its creation')
    const again = { token: bootstrapToken, body: { name: 'Acme', slug } }
    assert.equal((await house.ask('POST', '/v1/workspaces', again)).status, 201)
  })

  const doomedVendor = async () => {
    const vendor = await makeVendor(house)
    await spendOnce(house, vendor)
    await answerOnce(house, vendor)
    await useOnce(house, vendor)
    await house.ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=1&node=one`, {
      token: vendor.live,
    })
    await house.deps.workspaceLoads.flush()
    return vendor
  }
  const loose = [
    'policy_nodes',
    'rate_counters',
    'idempotency_claims',
    'idempotency_bodies',
    'idempotency_held',
    'idempotency_stored',
    'usage_reports',
    'usage_hours',
    'usage_months',
    'usage_days',
    'refusal_days',
    'shadow_days',
    'workspace_loads',
  ]
  const lockWaits = async (): Promise<number> => {
    const [row] = await house.query(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return row.n
  }
  const untilItWaits = () => until(async () => (await lockWaits()) > 0)
  const open = async (context: TestContext) => {
    const own = new pg.Client(house.connection)
    own.on('error', () => {})
    await own.connect()
    context.after(() => own.end())
    return own
  }

  test('its transaction never holds a row that lanes write with other workspaces’ rows', async context => {
    const vendor = await doomedVendor()
    const holder = await open(context)
    await holder.query('begin')
    // The last table that the transaction empties.
    await holder.query('select from workspace_slugs where workspace_id = $1 for update', [vendor.workspaceId])
    const removal = removeWorkspace(client, vendor.workspaceId)
    await untilItWaits()
    for (const table of loose) {
      const rows = await house.query(`select from ${table} where workspace_id = $1 for update nowait`, [
        vendor.workspaceId,
      ])
      assert.ok(rows.length > 0, table)
    }
    await holder.query('rollback')
    const removed = await removal
    for (const table of loose) assert.ok((removed?.[table] ?? 0) > 0, table)
    for (const [table, n] of Object.entries(await countRows(vendor.workspaceId))) assert.equal(n, 0, table)
  })

  for (const table of loose)
    test(`a holder of one of its ${table} is waited for, and nothing else is held meanwhile`, async context => {
      const vendor = await doomedVendor()
      const holder = await open(context)
      await holder.query('begin')
      await holder.query(`select from ${table} where workspace_id = $1 for update`, [vendor.workspaceId])
      const removal = removeWorkspace(client, vendor.workspaceId)
      await untilItWaits()
      for (const other of loose)
        if (other !== table)
          await house.query(`select from ${other} where workspace_id = $1 for update nowait`, [
            vendor.workspaceId,
          ])
      assert.equal((await house.ask('GET', '/v1/workspace', { token: vendor.live })).status, 401)
      await holder.query('rollback')
      // A request is in three rows of its day, and a refused one is in another report.
      const rows: Record<string, number> = { usage_days: 3, usage_reports: 2 }
      assert.equal((await removal)?.[table], rows[table] ?? 1)
      for (const [table, n] of Object.entries(await countRows(vendor.workspaceId))) assert.equal(n, 0, table)
    })

  test('a removal interrupted after its transaction is completed by a second one', async context => {
    const vendor = await doomedVendor()
    const [holder, first] = [await open(context), await open(context)]
    await holder.query('begin')
    await holder.query('select from idempotency_bodies where workspace_id = $1 for update', [
      vendor.workspaceId,
    ])
    const [{ pid }] = (await first.query('select pg_backend_pid() as pid')).rows
    const broken = assert.rejects(removeWorkspace(first, vendor.workspaceId))
    await untilItWaits()
    await house.query('select pg_terminate_backend($1)', [pid])
    await broken
    await holder.query('rollback')
    assert.equal(await removeWorkspace(client, vendor.workspaceId), null)
    assert.equal((await removeLoose(client, vendor.workspaceId)).idempotency_bodies, 1)
    for (const [table, n] of Object.entries(await countRows(vendor.workspaceId))) assert.equal(n, 0, table)
  })

  test('a missing workspace is reported', async () => {
    assert.equal(await removeWorkspace(client, '01890000-0000-7000-8000-000000000000'), null)
  })

  test('it wins against concurrent mutations, and they are refused in order', async () => {
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

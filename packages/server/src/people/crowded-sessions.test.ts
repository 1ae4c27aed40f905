import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { madePassword, makePerson } from '../../test/people.ts'
import { connect } from '../platform/db/connection.ts'
import { pruneSessions } from './room.ts'
import { sessionPlaces } from './session-sql.ts'

const harness = await startHarness()
const { ask, query } = harness

/** Signs a person in and out so many times. */
const openMany = (userId: string, count: number) =>
  query(
    `insert into sessions (id, user_id, created_at, last_seen_at, expires_at, ended_at)
     select gen_random_uuid(), $1, service_now(), service_now(),
       service_now() + interval '7 days', service_now() from generate_series(1, $2)`,
    [userId, count],
  )
interface Node {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}
/** The rows that the nodes of a plan read from tables, found or thrown away. */
const rowsOf = (node: Node): number =>
  (node['Relation Name'] === undefined
    ? 0
    : node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0))) +
  (node.Plans ?? []).reduce((sum, below) => sum + rowsOf(below), 0)
const countOf = async (userId: string): Promise<number> =>
  (await query('select count(*)::int as n from sessions where user_id = $1', [userId]))[0].n

test('a sign-in reads a bounded number of sessions, however many there were', async () => {
  const { userId, email } = await makePerson(query)
  await openMany(userId, 5_000)
  await query('vacuum analyze sessions')
  const explain = `explain (analyze, format json) ${sessionPlaces.text}`
  const [row] = await query(explain, [userId, '192.0.2.1', 'x'])
  const rows = rowsOf(row['QUERY PLAN'][0].Plan)
  assert.ok(rows > 0 && rows <= 1_200, `${rows} rows`)
  assert.equal(
    (await ask('POST', '/v1/auth/sessions', { body: { email, password: madePassword } })).status,
    201,
  )
})

test('upkeep keeps a thousand ended sessions of a person, and every live one', async () => {
  const { userId, token } = await makePerson(query)
  await openMany(userId, 3_000)
  const client = await connect(harness.connection, 'test', false)
  await pruneSessions.run(client).finally(() => client.end())
  assert.ok((await countOf(userId)) <= 1_001)
  assert.equal((await ask('GET', '/v1/auth/me', { token })).status, 200)
})

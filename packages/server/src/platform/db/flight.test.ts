import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { sql } from './connection.ts'
import { Flight, type Leg } from './flight.ts'

const database = await makeDatabase(testCluster())
const client = new pg.Client(database.connection)
await client.connect()
await client.query('create table landed (n int primary key)')
test.after(async () => {
  await client.end()
  await database.drop()
})

const insert = sql('test.insert', 'insert into landed (n) values ($1) returning n, n * 2 as twice')
const fly = (legs: Leg[]) => client.query(new Flight(legs)).landed
const leg = (n: string, onRows: Leg['onRows'] = null): Leg => ({ statement: insert, values: [n], onRows })
const stored = async () => (await client.query('select n from landed order by n')).rows.map(row => row.n)

test('each leg gets its rows, and the flight returns the tag of the last', async () => {
  const heard: object[][] = []
  const tag = await fly([leg('1', rows => heard.push(rows)), leg('2'), leg('3', rows => heard.push(rows))])
  assert.equal(tag, 'INSERT 0 1')
  assert.deepEqual(heard, [[{ n: 1, twice: 2 }], [{ n: 3, twice: 6 }]])
  assert.deepEqual(await stored(), [1, 2, 3])
})

test('after a leg that fails nothing runs, its error is reported and the connection stays open', async () => {
  await assert.rejects(fly([leg('4'), leg('1'), leg('5')]), { code: '23505' })
  assert.deepEqual(await stored(), [1, 2, 3], 'a flight without begin is one transaction')
  await fly([leg('5')])
  assert.deepEqual(await stored(), [1, 2, 3, 5])
})

test('a statement whose first flight failed before it was prepared is prepared by the next', async () => {
  const late = sql('test.late', 'select $1::int + 1 as n')
  await assert.rejects(fly([leg('1'), { statement: late, values: ['1'], onRows: null }]), { code: '23505' })
  let seen: object[] = []
  await fly([
    {
      statement: late,
      values: ['41'],
      onRows: rows => {
        seen = rows
      },
    },
  ])
  assert.deepEqual(seen, [{ n: 42 }])
})

test('rows are read the same whether the statement was described in this flight or long before', async () => {
  const types = sql(
    'test.types',
    `select 9007199254740991::bigint as big, null::text as nothing, '{a,b}'::text[] as list,
    '{"a":1}'::json as json, '\\x00ff'::bytea as bytes, '2024-02-29T12:00:00Z'::timestamptz as at, true as yes`,
  )
  const expected = {
    big: 9007199254740991,
    nothing: null,
    list: ['a', 'b'],
    json: { a: 1 },
    bytes: Buffer.from([0, 255]),
    at: new Date('2024-02-29T12:00:00Z'),
    yes: true,
  }
  for (const _ of [1, 2]) {
    let seen: object[] = []
    await fly([
      {
        statement: types,
        values: [],
        onRows: rows => {
          seen = rows
        },
      },
    ])
    assert.deepEqual(seen, [expected])
  }
})

test('a flight on a lost connection fails', async () => {
  const other = new pg.Client(database.connection)
  other.on('error', () => {})
  await other.connect()
  const sleeping = other.query(
    new Flight([{ statement: sql('test.sleep', 'select pg_sleep(60)'), values: [], onRows: null }]),
  )
  const ended = async (): Promise<void> => {
    const { rows } = await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()",
    )
    if (rows.length === 0) await ended()
  }
  const lost = assert.rejects(sleeping.landed)
  await ended()
  await lost
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { toListLeg } from '../../paging/list-leg.ts'
import type { Listed } from '../../paging/listed.ts'
import { NoCapacity } from '../../refusal.ts'
import { sql } from '../connection.ts'
import { Flight, type Leg, toLeg } from './flight.ts'

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

/** Counts the rows that Postgres has made. */
await client.query('create sequence made')
const large = sql(
  'test.large',
  `select n, repeat('x', 1000) as text, nextval('made') from generate_series(1, $1::int) n`,
)
const one = sql('test.one', 'select 1 as one')
/** Reads a list between two other statements. */
async function list(rows: number, bytesMax: number, hold: (bytes: number) => void = () => {}) {
  await client.query("select setval('made', 1, false)")
  const around: object[] = []
  const onRows = (rows: object[]) => void around.push(...rows)
  const { promise, resolve, reject } = Promise.withResolvers<Listed<{ n: number }>>()
  promise.catch(() => {})
  const listLeg = toListLeg(large, [rows], { most: rows, bytesMax }, hold, { resolve, reject })
  const tag = await fly([toLeg(one, [], onRows), listLeg, toLeg(one, [], onRows)])
  const [{ made }] = (await client.query("select nextval('made')::int - 1 as made")).rows
  assert.deepEqual([tag, around], ['SELECT 1', [{ one: 1 }, { one: 1 }]])
  return { listed: promise, made }
}

test('a list is read up to its bytes, and Postgres makes few rows more', async () => {
  for (const [rows, bytesMax, read, made] of [
    [200, 10_500, 10, 51],
    [200, 1, 1, 51],
    [51, 10_500, 10, 51],
    [200, 70_000, 68, 102],
  ] as const) {
    const { listed, made: known } = await list(rows, bytesMax)
    const { rows: heard, bytes, isCut } = await listed
    assert.deepEqual([heard.length, heard.at(-1)?.n, isCut, known], [read, read, true, made], `${rows} rows`)
    assert.ok(bytes >= read * 1_000 && bytes <= Math.max(bytesMax, 1_100))
  }
})

test('a list within its bytes is whole, whatever the number of slices', async () => {
  for (const rows of [0, 1, 51, 52, 101, 102, 103, 153, 200]) {
    const { listed, made } = await list(rows, 1_000_000)
    const { rows: heard, isCut } = await listed
    assert.deepEqual([heard.length, isCut, made], [rows, false, rows])
    assert.ok(heard.every(({ n }, i) => n === i + 1))
  }
})

test('a list without room fails after its statement has ended, and no more of it is kept', async () => {
  for (const rows of [51, 200]) {
    let held = 0
    const noCapacity = new NoCapacity()
    const { listed, made } = await list(rows, 1_000_000, bytes => {
      if (held + bytes > 5_300) throw noCapacity
      held += bytes
    })
    await assert.rejects(listed, error => error === noCapacity)
    assert.ok(held > 5_000)
    assert.equal(made, 51)
  }
})

test('an error in a later slice fails the flight, and the connection stays open', async () => {
  const failing = sql('test.failing', 'select 1 / (60 - n) as n from generate_series(1, 200) n')
  const ends = { resolve: () => assert.fail(), reject: () => assert.fail() }
  const leg = toListLeg(failing, [], { most: 200 }, () => {}, ends)
  await assert.rejects(fly([leg, toLeg(one)]), { code: '22012' })
  assert.equal(await fly([toLeg(one)]), 'SELECT 1')
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

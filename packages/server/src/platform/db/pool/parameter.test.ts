import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { testCluster } from '../../../../test/database.ts'
import { toParameter } from './parameter.ts'

const client = new pg.Client(testCluster())
await client.connect()
test.after(() => client.end())

/** Any text without NUL, which Postgres cannot store, or halves of pairs, which UTF-8 cannot encode. */
const text = fc.string({ unit: 'binary' }).map(text => text.replaceAll('\0', '').toWellFormed())

test('an array of any texts and nulls arrives unchanged, item by item', async () => {
  const awkward = fc.constantFrom('', ' ', ',', '{', '}', '"', '\\', '\\"', 'null', 'NULL', '\n', '\t')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(fc.oneof(text, awkward))), async items => {
      const { rows } = await client.query('select to_json($1::text[]) as items', [toParameter(items)])
      assert.deepEqual(rows[0].items, items)
    }),
  )
})

test('times arrive to the millisecond, in any time zone of the process or the session', async () => {
  await client.query(`set timezone = 'Asia/Kathmandu'`)
  const moment = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  await fc.assert(
    fc.asyncProperty(moment, async at => {
      const { rows } = await client.query('select extract(epoch from $1::timestamptz) * 1000 as ms', [
        toParameter(at),
      ])
      assert.equal(Number(rows[0].ms), at.getTime())
    }),
  )
})

test('numbers, booleans, bytes and null arrive unchanged', async () => {
  const values = [1.5, 9_007_199_254_740_991, true, Buffer.from([0, 255]), null, undefined]
  const { rows } = await client.query(
    'select $1::float8 = 1.5 and $2::int8 = 9007199254740991 and $3::bool and $4::bytea = $5 and $6::text is null and $7::text is null as same',
    [...values.slice(0, 4), '\\x00ff', ...values.slice(4)].map(toParameter),
  )
  assert.equal(rows[0].same, true)
})

test('an array of any bytes arrives unchanged, item by item', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(fc.uint8Array())), async items => {
      const given = items.map(item => item && Buffer.from(item))
      const { rows } = await client.query('select $1::bytea[] as items', [toParameter(given)])
      assert.deepEqual(rows[0].items, given)
    }),
  )
})

test('an object is refused, because its JSON type is unknown', () => {
  assert.throws(() => toParameter({ a: 1 }), TypeError)
  assert.throws(() => toParameter([{ a: 1 }]), TypeError)
  assert.throws(() => toParameter([['nested']]), TypeError)
})

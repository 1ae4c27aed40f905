import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { address, jobCount, setStage } from '../../../test/mail-stage.ts'
import { sql } from '../db/connection.ts'
import { queueMail } from './queue.ts'
import { pruneMailThrottles } from './upkeep.ts'

const { connection, db, query, queue } = await setStage()
const workspaceId = '01890000-0000-7000-8000-000000000001'
const count = async () => (await query(jobCount))[0].answer
const noon = Date.UTC(2026, 0, 31, 12)
const hour = 60 * 60_000

/** How many of a number of messages queued at one moment are accepted. */
async function queued(times: number, at: number, mail: Parameters<typeof queue>[0]): Promise<number> {
  await query(
    `create or replace function service_now() returns timestamptz language sql stable
     as $$ select timestamptz '${new Date(at).toISOString()}' $$`,
  )
  const before = await count()
  for (let i = 0; i < times; i++) await queue(mail)
  return (await count()) - before
}

test('an address is sent five an hour of a kind, to the millisecond, in any window', async () => {
  const mail = { throttle: 'reset', address: 'a@example.com' }
  assert.equal(await queued(2, noon, mail), 2)
  assert.equal(await queued(4, noon + 1_000, mail), 3)
  assert.equal(await queued(1, noon + hour - 1, mail), 0)
  assert.equal(await queued(3, noon + hour, mail), 2)
  assert.equal(await queued(1, noon + hour + 999, mail), 0)
  assert.equal(await queued(9, noon + hour + 1_000, mail), 3)
  assert.equal(await queued(9, noon + 9 * hour, mail), 5)
})

test('addresses and kinds count separately; letters that share a throttle count together', async () => {
  const at = noon + 100 * hour
  assert.equal(await queued(6, at, { throttle: 'sign_up', address: 'b@example.com' }), 5)
  assert.equal(await queued(1, at, { throttle: 'reset', address: 'b@example.com' }), 1)
  assert.equal(await queued(1, at, { throttle: 'sign_up', address: 'c@example.com' }), 1)
  assert.equal(await queued(1, at, { kind: 'notice', throttle: 'sign_up', address: 'b@example.com' }), 0)
})

test('of many at the same moment, five are accepted', async () => {
  const before = await count()
  const mail = { throttle: 'flood', address: 'd@example.com' }
  await Promise.all(Array.from({ length: 30 }, () => queue(mail)))
  assert.equal((await count()) - before, 5)
})

test('mail without a recipient is throttled and queued like any other', async () => {
  const at = noon + 200 * hour
  assert.equal(
    await queued(6, at, { throttle: 'decoy', address: 'e@example.com', ids: { user_id: null } }),
    5,
  )
})

test('mail queued in a transaction that does not commit is neither queued nor counted', async () => {
  const before = [await count(), await query('select * from mail_throttles order by 1, 2')]
  await assert.rejects(
    db.inWorkspace(workspaceId, async tx => {
      queueMail(tx, { kind: 'reset', throttle: 'undone', address, ids: {} })
      await tx.query(sql('test.one', 'select 1'))
      throw new Error('changed my mind')
    }),
    /changed my mind/,
  )
  assert.deepEqual([await count(), await query('select * from mail_throttles order by 1, 2')], before)
})

test('a job only contains ids, whatever queues it', async () => {
  const id = '01890000-0000-7000-8000-00000000000a'
  for (const ids of [
    { user_id: address },
    { user_id: `${id}.token` },
    { user_id: `${id}\n` },
    { [address]: id },
    { user_id: { id } as unknown as string },
    [id] as unknown as Record<string, string>,
  ])
    await assert.rejects(queue({ ids }), { code: 'validation_failed' }, JSON.stringify(ids))
  await assert.rejects(queue({ kind: address }), { code: 'validation_failed' })
  await assert.rejects(queue({ throttle: address }), { code: 'validation_failed' })
})

test('no job and no throttle contains an address', async () => {
  const text = JSON.stringify([
    await query('select * from graphile_worker._private_jobs'),
    await query('select * from mail_throttles'),
  ])
  assert.doesNotMatch(text, /@|example/)
})

test('the role of a request can queue, and can neither read nor write the queue’s tables', async () => {
  const client = new pg.Client(connection)
  await client.connect()
  const asApp = async (text: string) => {
    await client.query('begin; set local role keyrail_app')
    try {
      await client.query(text)
      return 'allowed'
    } catch (error) {
      return (error as { code: string }).code
    } finally {
      await client.query('rollback')
    }
  }
  const call = `select queue_mail('reset', 'reset', sha256('x'), '{}')`
  assert.equal(await asApp(call), 'allowed')
  for (const text of [
    'select from mail_throttles',
    'delete from mail_throttles',
    'select from graphile_worker.jobs',
    'select from graphile_worker._private_jobs',
    `select graphile_worker.add_job('keyrail_mail')`,
  ])
    assert.equal(await asApp(text), '42501', text)
  // It resolves names in its own search path, so a planted function is not called.
  await client.query(
    `create schema trap; grant usage on schema trap to public;
     create function trap.service_now() returns timestamptz language plpgsql
       as $$ begin raise 'trapped'; end $$`,
  )
  assert.equal(await asApp(`set local search_path = trap, public; select service_now()`), 'P0001')
  assert.equal(await asApp(`set local search_path = trap, public; ${call}`), 'allowed')
  await client.query(
    `drop schema trap cascade; create role nobody_${process.pid}; grant usage on schema public to nobody_${process.pid}`,
  )
  await client.query(`begin; set local role nobody_${process.pid}`)
  await assert.rejects(client.query(call), { code: '42501' })
  await client.query(`rollback; drop owned by nobody_${process.pid}; drop role nobody_${process.pid}`)
  await client.end()
})

test('throttles are removed when their hour is over', async () => {
  const client = new pg.Client(connection)
  await client.connect()
  const rows = async () => (await query('select count(*)::int as n from mail_throttles'))[0].n
  await queued(1, noon + 300 * hour, { throttle: 'last', address: 'z@example.com' })
  const before = await rows()
  assert.ok(before > 5)
  assert.equal(await pruneMailThrottles.run(client), before - 1)
  await queued(0, noon + 301 * hour - 1, {})
  assert.equal(await pruneMailThrottles.run(client), 0)
  await queued(0, noon + 301 * hour, {})
  assert.equal(await pruneMailThrottles.run(client), 1)
  assert.equal(await rows(), 0)
  await client.end()
})

test('an alarm beyond the throttle is gathered, once until there is room again', async () => {
  const alarm = { kind: 'fire', throttle: 'fire', address: 'f@example.com', isAlarm: true } as const
  const gathered = async () =>
    (await query(`select from graphile_worker._private_jobs where payload->>'kind' = 'fire_gathered'`)).length
  const at = noon + 300 * hour
  assert.equal(await queued(5, at, alarm), 5)
  assert.equal(await gathered(), 0)
  assert.equal(await queued(30, at + 1_000, alarm), 1)
  assert.equal(await queued(30, at + hour - 1, alarm), 0)
  assert.equal(await gathered(), 1)
  assert.equal(await queued(6, at + hour, alarm), 6)
  assert.equal(await gathered(), 2)
})

test('letters about one workspace use up nothing of another at the same address', async () => {
  const at = noon + 400 * hour
  const mail = { throttle: 'leak', address: 'g@example.com' }
  const other = '01890000-0000-7000-8000-000000000002'
  assert.equal(await queued(6, at, { ...mail, workspaceId }), 5)
  assert.equal(await queued(6, at, { ...mail, workspaceId: other }), 5)
  assert.equal(await queued(6, at, mail), 5)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setStage } from '../../../test/mail-stage.ts'
import { connect } from '../db/connection.ts'
import { mailReading } from './reading.ts'

test('the queue shows what waits, for how long, and what was given up', async t => {
  const { connection, query, queue } = await setStage()
  const client = await connect(connection, 'test', false)
  t.after(() => client.end())
  const read = async () => {
    const { keyrail_mail_queue_messages: messages = [], keyrail_mail_queue_oldest_seconds: oldest = [] } =
      await mailReading.read(client)
    return { ...Object.fromEntries(messages.map(({ labels, value }) => [labels?.state, value])), oldest }
  }
  assert.deepEqual(await read(), { waiting: 0, given_up: 0, oldest: [{ value: 0 }] })
  for (const _ of [1, 2, 3]) await queue()
  const jobs = 'graphile_worker._private_jobs'
  await query(`update ${jobs} set created_at = now() - interval '1 day', attempts = max_attempts
               where id = (select min(id) from ${jobs})`)
  await query(
    `update ${jobs} set created_at = now() - interval '1 hour' where id = (select max(id) from ${jobs})`,
  )
  const { oldest, ...counts } = await read()
  assert.deepEqual(counts, { waiting: 2, given_up: 1 })
  const [{ value = 0 } = {}] = oldest
  assert.ok(value >= 3_600 && value < 86_400, String(value))
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { standbyOf } from '../../../test/absent-standby.ts'
import { jobCount, setStage } from '../../../test/mail-stage.ts'
import { startScratchCluster } from '../../../test/scratch.ts'
import { startMailServer } from '../../../test/smtp-server.ts'
import { until } from '../../../test/until.ts'
import { migrate } from '../db/migrate/migrate.ts'
import { doChores } from '../db/upkeep.ts'
import { freeStuckMail } from './upkeep.ts'

const cluster = await startScratchCluster()
await migrate(cluster.connection)
const stage = await setStage({ connection: cluster.connection, drop: () => cluster.remove() })
const { query, queue } = stage
const standby = standbyOf(stage)

test('no letter goes out for a change that the synchronous standby may lack', async t => {
  const server = await startMailServer()
  const letter = async ({ user_id = '' }: Readonly<Record<string, string>>) => ({
    to: `${user_id}@example.com`,
    subject: 'One',
    paragraphs: ['Hello.'],
  })
  stage.open(`smtp://127.0.0.1:${server.port}`, { letter })
  const [first, unconfirmed, last] = [randomUUID(), randomUUID(), randomUUID()]
  const write = (id: string) => queue({ kind: 'letter', ids: { user_id: id } })
  const sent = () => server.received.map(({ to: [to = ''] }) => to.split('@')[0])
  await write(first)
  await stage.untilAnswer(jobCount, 0)

  await standby.set('absent')
  t.after(() => standby.set(''))
  // Its change is stored on the primary, where the worker finds it.
  await standby.cancelWait(() => assert.rejects(write(unconfirmed)), 'pool')
  // The worker takes it, and waits. An operator cancels that too.
  await standby.cancelWait(async () => {}, 'mail')
  const taken = 'select from graphile_worker.jobs where locked_at is not null'
  await until(async () => (await query(taken)).length === 1)
  await standby.set('')
  await write(last)
  await until(() => sent().length > 1)
  assert.deepEqual(sent(), [first, last])

  // The worker that took it counts as killed after five minutes.
  await query(`update graphile_worker._private_jobs set locked_at = locked_at - interval '6 minutes'`)
  await doChores(cluster.connection, [freeStuckMail], { info() {} } as never)
  await stage.hasten()
  await until(() => sent().length > 2)
  assert.deepEqual(sent(), [first, last, unconfirmed])
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setStage } from '../../../test/mail-stage.ts'
import { until } from '../../../test/until.ts'
import { createLog } from '../observe/log.ts'
import { pruneFailedJobs, readQueue } from './upkeep.ts'
import { type Attempt, startWorker, type Task } from './worker.ts'

const stage = await setStage()
const { connection, query, hasten } = stage

function start(name: string, run: Task['run']): void {
  const task: Task = { name, connectionName: 'test', stalled: `${name} is not done`, run }
  after(startWorker(connection, task, createLog('silent')))
}
const add = (task: string, payload: unknown, most = 3) =>
  query('select graphile_worker.add_job($1, $2::json, max_attempts => $3)', [
    task,
    JSON.stringify(payload),
    most,
  ])

test('a job that fails is tried again, and one that was done is not', async () => {
  const seen: Attempt[] = []
  start('again', async attempt => {
    seen.push(attempt)
    if (attempt.attempt < 3) throw new Error('not yet')
  })
  await add('again', { id: 7 })
  await until(async () => {
    await hasten()
    return seen.length === 3
  })
  assert.deepEqual(
    seen,
    [1, 2, 3].map(attempt => ({ payload: { id: 7 }, attempt, attemptsMax: 3 })),
  )
  await until(async () => (await query('select from graphile_worker.jobs')).length === 0)
})

test('a task whose jobs hang holds up no other task', async () => {
  const done: unknown[] = []
  const released = Promise.withResolvers<void>()
  start('hanging', () => released.promise)
  start('quick', async ({ payload }) => void done.push(payload))
  await Promise.all(Array.from({ length: 10 }, () => add('hanging', {})))
  await Promise.all(Array.from({ length: 10 }, (_, id) => add('quick', id)))
  await until(() => done.length === 10)
  released.resolve()
})

test('a job that was given up is counted by its task alone, and removed after a week', async () => {
  start('refused', async () => {
    throw new Error('never')
  })
  await add('refused', {}, 1)
  const client = { query: async (text: string, values: unknown[]) => ({ rows: await query(text, values) }) }
  const stateOf = (task: string) => readQueue(client as never, task)
  await until(async () => (await stateOf('refused')).given_up === 1)
  assert.deepEqual(await stateOf('elsewhere'), { waiting: 0, given_up: 0, oldest: 0 })

  const { run } = pruneFailedJobs('refused', 'refused jobs')
  const counting = {
    query: async (text: string, values: unknown[]) => ({ rowCount: (await query(text, values)).length }),
  }
  const prune = () => run(counting as never, new AbortController().signal)
  assert.equal(await prune(), 0)
  await query(`update graphile_worker._private_jobs set run_at = now() - interval '8 days'`)
  assert.equal(await prune(), 1)
  assert.equal((await stateOf('refused')).given_up, 0)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deserialize, serialize } from 'node:v8'
import { figuresOf } from '../../../test/figures.ts'
import { GatheredFigures } from './gather.ts'
import { createMetrics } from './prometheus.ts'

const start = () => createMetrics({ version: '1', node: '2' })
type Process = ReturnType<typeof start>

/** What a process sends, as it arrives in another one. */
const sent = async (metrics: Process, isFirst = true) =>
  deserialize(serialize(await metrics.figures(isFirst)))

const height = (metrics: Process, name: string, gathered: 'sum' | 'max' | 'min' | 'first', value: number) =>
  metrics.watch({ name, help: 'For the test.', gathered, read: () => [{ labels: { a: 'x' }, value }] })

test('counts and histograms of processes are summed, and figures by their own rule', async () => {
  const [own, one, two] = [start(), start(), start()]
  for (const [metrics, value] of [
    [one, 3],
    [two, 4],
  ] as const) {
    metrics.requestCounted('answered')
    metrics.requestEnded('GET', '/v1/x', 200, 0.02)
    for (const rule of ['sum', 'max', 'min', 'first'] as const) height(metrics, `in_${rule}`, rule, value)
  }
  const gathered = new GatheredFigures()
  gathered.note(1, await sent(one))
  gathered.note(2, await sent(two, false))
  const figures = figuresOf(await gathered.text(await own.figures(false)))
  const series = 'http_server_request_duration_seconds'
  const labels = 'method="GET",route="/v1/x",status="200"'
  assert.deepEqual(
    [
      'keyrail_requests_total{outcome="answered"}',
      `${series}_count{${labels}}`,
      `${series}_bucket{le="0.01",${labels}}`,
      `${series}_bucket{le="+Inf",${labels}}`,
      ...['sum', 'max', 'min', 'first'].map(rule => `in_${rule}{a="x"}`),
      'keyrail_build_info{version="1",node="2"}',
    ].map(name => figures.get(name)),
    [2, 2, 0, 2, 7, 4, 3, 3, 1],
  )
  assert.ok((figures.get('process_start_time_seconds') ?? 0) > 0)
})

test('the counts of a process that has ended stay, and its other figures go', async () => {
  const own = start()
  const gathered = new GatheredFigures()
  for (const id of [1, 2, 3]) {
    const metrics = start()
    metrics.requestCounted('failed')
    metrics.requestEnded('GET', '/v1/x', 500, 1)
    height(metrics, 'in_sum', 'sum', 5)
    gathered.note(id, await sent(metrics))
  }
  await gathered.end(1)
  await gathered.end(2)
  await gathered.end(4)
  const figures = figuresOf(await gathered.text(await own.figures(false)))
  const labels = 'method="GET",route="/v1/x",status="500"'
  assert.deepEqual(
    [
      'keyrail_requests_total{outcome="failed"}',
      `http_server_request_duration_seconds_count{${labels}}`,
      'in_sum{a="x"}',
    ].map(name => figures.get(name)),
    [3, 3, 5],
  )
})

test('figures that are the same in each process are read in one of them', async () => {
  const metrics = start()
  const runs: string[] = []
  metrics.beforeScrape(async () => void runs.push('own'))
  metrics.beforeScrape(async () => void runs.push('of all'), 'first')
  height(metrics, 'of_all', 'first', 1)
  height(metrics, 'of_one', 'sum', 1)
  const names = async (isFirst: boolean) =>
    (await metrics.figures(isFirst)).map(({ name }) => name).filter(name => name.startsWith('of_'))
  assert.deepEqual(await names(false), ['of_one'])
  assert.deepEqual(runs, ['own'])
  assert.deepEqual(await names(true), ['of_all', 'of_one'])
  assert.deepEqual(runs, ['own', 'own', 'of all'])
})

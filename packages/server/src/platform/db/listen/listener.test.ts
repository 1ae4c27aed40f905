import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { figuresFrom } from '../../../../test/figures.ts'
import { openTestLanes, patientBudgets } from '../../../../test/stores.ts'
import { startTcpProxy } from '../../../../test/tcp-proxy.ts'
import { until } from '../../../../test/until.ts'
import { createMetrics } from '../../observe/prometheus.ts'
import { connect, withConnectMs } from '../connection.ts'
import { openHints } from './hints.ts'

const database = await makeDatabase(testCluster())
const proxy = await startTcpProxy(database.connection)
const admin = new pg.Client(database.connection)
await admin.connect()
after(async () => {
  await proxy.close()
  await admin.end()
  await database.drop()
})

const series = 'keyrail_hints_heard_timestamp_seconds'
/** Hints through the proxy. The test beats by itself, and says what time it is. */
function openOwn(beatsBySelf = false) {
  const connection = withConnectMs(proxy.connection, patientBudgets.connectMs)
  const metrics = createMetrics({ version: '0', node: '0' })
  const lanes = openTestLanes(connection)
  const own = { beat: () => {}, now: 7_000, heard: 0 }
  const every = (_ms: number, run: () => void) => {
    own.beat = run
    return () => {}
  }
  const hints = openHints({
    connection,
    lanes,
    metrics,
    clock: { now: () => own.now },
    ...(!beatsBySelf && { every }),
  })
  after(async () => {
    hints.close()
    await lanes.close()
  })
  const read = figuresFrom(metrics)
  return { ...own, own, hints, notifiedAt: async () => (await read(series))[0] }
}
const announce = () => admin.query(`select pg_notify('keyrail', 'topic')`)

test('it reports when it was last notified, from the first subscriber on', async () => {
  const { own, hints, notifiedAt } = openOwn()
  assert.equal(await notifiedAt(), undefined)
  hints.listen('topic', () => {})
  assert.equal(await notifiedAt(), 0)
  await until(async () => (await notifiedAt()) === 7)
  own.now = 9_000
  own.beat()
  await until(async () => (await notifiedAt()) === 9)
})

test('a listener whose socket hangs listens again, and wakes those who missed a hint', async () => {
  const { own, hints, notifiedAt } = openOwn()
  let heard = 0
  hints.listen('topic', () => {
    heard += 1
  })
  await until(async () => (await notifiedAt()) === 7)
  const before = heard
  await announce()
  await until(() => heard > before)

  proxy.hang()
  own.now = 9_000
  const deaf = heard
  await announce()
  for (let beats = 0; beats < 3; beats += 1) own.beat()
  assert.equal(heard, deaf)
  own.beat()
  await until(() => heard > deaf)
  await until(async () => (await notifiedAt()) === 9)
  const awake = heard
  await announce()
  await until(() => heard > awake)
})

test('it beats by itself', async () => {
  let beats = 0
  admin.on('notification', ({ payload }) => {
    if (payload === 'beat') beats += 1
  })
  await admin.query('listen keyrail')
  openOwn(true).hints.listen('topic', () => {})
  await until(() => beats >= 3)
})

test('an idle connection is probed after 10 s', async () => {
  const client = await connect(proxy.connection, 'test')
  const { localPort = 0, remotePort = 0 } = (
    client as unknown as { connection: { stream: { localPort?: number; remotePort?: number } } }
  ).connection.stream
  const address = (port: number) => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const [, , , , , timer = ''] =
    readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map(line => line.trim().split(/\s+/))
      // An ended connection from the same port to another one is listed too.
      .find(([, from, to]) => from === address(localPort) && to === address(remotePort)) ?? []
  // Which timer runs, and when it ends in hundredths of a second.
  const [kind = '', when = ''] = timer.split(':')
  assert.equal(kind, '02')
  assert.ok(Number.parseInt(when, 16) <= 1_000, timer)
  await client.end()
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { UsageReport } from '@keyrail/contract/usage'
import { id } from '../../test/keys.ts'
import { ManualTimer } from '../../test/manual-timer.ts'
import { startKeyrail } from '../../test/service.ts'
import { until } from '../../test/until.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { createUsageReporter, openUsageReporter } from './reporter.ts'
import type { UsageReporterOptions } from './reporter-options.ts'

const { service, vendor, connection, issue } = await startKeyrail()
const HOUR = 3_600_000

/** A reporter whose reports are recorded and passed on, unless a test answers them. */
function open(options: Partial<UsageReporterOptions> = {}, random = () => 0.5) {
  const timer = new ManualTimer()
  const time = { now: Date.now(), ofService: false }
  const errors: string[] = []
  const sent: UsageReport[] = []
  const instead: (() => Promise<Response>)[] = []
  const reporter = openUsageReporter(
    {
      ...connection,
      onError: ({ code }: KeyrailError) => void errors.push(code),
      fetch: async (url, init) => {
        // The service's time, unless a test sets it.
        if (init?.method === 'GET') return time.ofService ? fetch(url, init) : dated(time.now)
        sent.push(JSON.parse(String(init?.body)))
        const answer = instead.shift()
        return answer ? answer() : fetch(url, init)
      },
      ...options,
    },
    { timer, random, now: () => time.now },
  )
  return { timer, time, errors, sent, instead, reporter }
}

async function usageOf(keyId: string): Promise<number> {
  const { body } = await service.ask('GET', `/v1/keys/${keyId}/usage?days=90`, { token: vendor.live })
  return body.total
}

const dated = (at: number) => new Response('{}', { headers: { date: new Date(at).toUTCString() } })
const away = () => Promise.reject(new Error('away'))

test('counts are reported by key after the interval, once', async () => {
  const { timer, sent, reporter } = open()
  const [one, other] = [await issue(), await issue()]
  for (let request = 0; request < 5; request++) reporter.count({ keyId: one.id })
  reporter.count({ keyId: other.id }, 7)
  assert.equal(sent.length, 0)
  timer.pass(7_500)
  await until(() => reporter.stats().pending === 0, 'it is reported')
  assert.deepEqual([await usageOf(one.id), await usageOf(other.id)], [5, 7])
  await until(() => timer.delays.length === 1, 'the next report is scheduled')
  assert.deepEqual(timer.delays, [10_000])
  timer.pass(10_000)
  await until(() => timer.delays.length === 1, 'the next report is scheduled')
  assert.equal(sent.length, 1)
  assert.deepEqual(reporter.stats(), { pending: 0, reported: 12, dropped: 0, lastError: null })
})

test('a report without an answer is sent again unchanged, and counted once', async () => {
  const { errors, sent, instead, reporter } = open()
  const { id: keyId } = await issue()
  reporter.count({ keyId }, 3)
  instead.push(async () => {
    const { body } = await service.ask('POST', '/v1/usage/reports', { token: vendor.live, body: sent[0] })
    assert.equal(body.accepted, 1)
    return away()
  })
  await reporter.flush()
  assert.deepEqual([errors, reporter.stats().pending], [['network_error'], 3])
  reporter.count({ keyId }, 4)
  await reporter.flush()
  assert.deepEqual(
    sent.map(({ report_id }) => report_id === sent[0]?.report_id),
    [true, true, false],
  )
  assert.deepEqual(sent[1], sent[0])
  assert.equal(await usageOf(keyId), 7)
})

test('while the service is away counts are merged by key and hour, and reports back off', async () => {
  const { timer, sent, instead, reporter } = open()
  const { id: keyId } = await issue()
  instead.push(away, away)
  reporter.count({ keyId })
  timer.pass(7_500)
  await until(() => timer.delays.length === 1, 'it retries')
  assert.deepEqual(timer.delays, [250])
  for (let request = 0; request < 10_000; request++) reporter.count({ keyId })
  timer.pass(250)
  await until(() => timer.delays.length === 1, 'it retries')
  assert.deepEqual(timer.delays, [500])
  timer.pass(500)
  await until(() => reporter.stats().pending === 0, 'everything is reported')
  assert.equal(await usageOf(keyId), 10_001)
  assert.equal(sent.length, 4)
})

test('reports count by hour, with 1,000 records a report and a billion requests a record', async () => {
  const { time, sent, instead, reporter } = open()
  instead.push(...Array.from({ length: 4 }, () => async () => new Response('{}', { status: 202 })))
  time.now = Date.UTC(2027, 0, 1, 10, 59, 59, 999)
  reporter.count({ keyId: id(1) }, 2_500_000_000)
  time.now += 1
  for (let key = 0; key < 1_500; key++) reporter.count({ keyId: id(key) })
  await reporter.flush()
  const records = sent.flatMap(report => report.records)
  assert.ok(sent.every(report => report.records.length <= 1_000))
  assert.equal(records.filter(({ hour }) => hour === '2027-01-01T11:00:00.000Z').length, 1_500)
  const first = records.filter(({ hour }) => hour === '2027-01-01T10:00:00.000Z').map(({ count }) => count)
  assert.deepEqual(first, [1_000_000_000, 1_000_000_000, 500_000_000])
})

test('a sampled reporter counts a share and sends its rate', async () => {
  let draw = 0
  const { sent, reporter } = open({ sampleRate: 0.25 }, () => (draw++ % 4) / 4)
  draw = 0
  const { id: keyId } = await issue()
  for (let request = 0; request < 40; request++) reporter.count({ keyId })
  await reporter.flush()
  assert.deepEqual([sent[0]?.sample_rate, sent[0]?.records[0]?.count], [0.25, 10])
  assert.equal(await usageOf(keyId), 40)
})

test('beyond maxEntries new keys are dropped and counted, and known ones continue', async () => {
  const { time, reporter, instead } = open({ maxEntries: 2 })
  for (const key of [1, 2, 3, 1]) reporter.count({ keyId: id(key) }, 5)
  assert.deepEqual(reporter.stats(), { pending: 15, reported: 0, dropped: 5, lastError: null })
  instead.push(away)
  await reporter.flush()
  time.now += 8 * 24 * HOUR
  for (const key of [1, 2, 3]) reporter.count({ keyId: id(key) })
  assert.equal(reporter.stats().dropped, 6)
})

test('hours that are too old are dropped, and a rejected report does not block others', async () => {
  const { time, sent, instead, reporter } = open()
  reporter.count({ keyId: id(1) }, 3)
  time.now += 8 * 24 * HOUR
  await reporter.flush()
  assert.deepEqual([sent.length, reporter.stats().dropped, reporter.stats().pending], [0, 3, 0])
  instead.push(async () => Response.json({ code: 'validation_failed' }, { status: 400 }))
  reporter.count({ keyId: id(1) }, 4)
  await reporter.flush()
  assert.deepEqual(reporter.stats(), { pending: 0, reported: 0, dropped: 7, lastError: 'validation_failed' })
})

test('closing sends the rest, with retries, and reports what could not be sent', async () => {
  const { id: keyId } = await issue()
  await using reporter = createUsageReporter(connection)
  reporter.count({ keyId }, 2)
  await reporter.close()
  await reporter.close()
  assert.equal(await usageOf(keyId), 2)

  const gone = open()
  gone.instead.push(away, away, away)
  gone.reporter.count({ keyId }, 9)
  const closed = gone.reporter.close()
  for (let wait = 0; wait < 2; wait++) {
    await until(() => gone.timer.delays.length === 2, 'it waits to retry')
    gone.timer.pass(1_000)
  }
  await closed
  assert.deepEqual(gone.errors, ['network_error', 'network_error', 'network_error', 'usage_unsent'])
  assert.deepEqual([gone.reporter.stats().pending, gone.timer.delays], [9, []])
})

test('closing while the service hangs ends in time, and reports what could not be sent', async () => {
  for (const isAnswering of [false, true]) {
    const { timer, errors, instead, reporter } = open()
    const hang = () => new Promise<Response>(() => {})
    instead.push(isAnswering ? away : hang, hang, hang)
    reporter.count({ keyId: id(1) }, 9)
    const closed = reporter.close({ timeoutMs: 3_000 })
    if (isAnswering) await until(() => timer.delays.length === 2, 'it waits to retry')
    timer.pass(3_000)
    await closed
    assert.deepEqual(errors, isAnswering ? ['network_error', 'usage_unsent'] : ['usage_unsent'])
    assert.deepEqual([reporter.stats().pending, timer.delays], [9, []])
  }
  const { reporter } = open()
  assert.throws(() => reporter.close({ timeoutMs: -1 }), /timeoutMs must be an integer/)
  await reporter.close()
})

/** A program that counts seven requests and ends. */
const program = (settings: object, keyId: string) => `
  import { createUsageReporter } from ${JSON.stringify(new URL('./reporter.ts', import.meta.url))}
  const usage = createUsageReporter({ ...${JSON.stringify(settings)}, onError: e => console.log(e.code) })
  usage.count({ keyId: ${JSON.stringify(keyId)} }, 7)`

test('a process that ends by itself loses no counts, and ends also without the service', async () => {
  const run = async (settings: object, keyId: string) => {
    const args = ['--no-warnings', '--input-type=module-typescript', '-e', program(settings, keyId)]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
    return stdout.trim().split('\n')
  }
  const { id: keyId } = await issue()
  assert.deepEqual(await run(connection, keyId), [''])
  assert.equal(await usageOf(keyId), 7)
  const nobody = { ...connection, url: 'http://127.0.0.1:2' }
  assert.equal((await run(nobody, keyId)).at(-1), 'usage_unsent')
})

test('an invalid key id is dropped alone, and records that the service ignores are reported', async () => {
  const { errors, reporter } = open()
  const { id: keyId } = await issue()
  reporter.count({ keyId }, 500)
  for (const odd of ['my-own-record', '', undefined, 7, `${keyId}0`]) reporter.count({ keyId: odd as string })
  for (const odd of [undefined, null]) reporter.count(odd as never)
  await reporter.flush()
  assert.equal(await usageOf(keyId), 500)
  assert.deepEqual(
    [errors, reporter.stats()],
    [[], { pending: 0, reported: 500, dropped: 7, lastError: null }],
  )
  reporter.count({ keyId: id(0xbad) }, 3)
  await reporter.flush()
  assert.deepEqual(errors, ['usage_ignored'])
  assert.deepEqual(reporter.stats(), { pending: 0, reported: 500, dropped: 10, lastError: 'usage_ignored' })
  reporter.count({ keyId: id(0xbad) })
  reporter.count({ keyId }, 2)
  await reporter.flush()
  assert.deepEqual([await usageOf(keyId), errors.length, reporter.stats().reported], [502, 2, 503])
})

test("hours follow the service's clock, however wrong this machine's is", async () => {
  for (const wrong of [-30 * 24 * HOUR, 2 * HOUR]) {
    const { time, errors, sent, reporter } = open()
    const { id: keyId } = await issue()
    time.ofService = true
    const before = Math.floor(Date.now() / HOUR)
    time.now = Date.now() + wrong
    reporter.count({ keyId }, 333)
    await reporter.flush()
    reporter.count({ keyId }, 4)
    await reporter.flush()
    assert.deepEqual([await usageOf(keyId), errors], [337, []])
    for (const { records } of sent) {
      const hour = Date.parse(records[0]?.hour ?? '') / HOUR
      assert.ok(hour >= before && hour <= Date.now() / HOUR, String(wrong))
    }
  }
})

test('counts after close are dropped, and counted as dropped', async () => {
  const { reporter, sent, timer } = open()
  const { id: keyId } = await issue()
  reporter.count({ keyId }, 2)
  const closing = reporter.close()
  reporter.count({ keyId }, 3)
  await closing
  reporter.count({ keyId }, 7)
  assert.deepEqual(reporter.stats(), { pending: 0, reported: 5, dropped: 7, lastError: null })
  assert.deepEqual([await usageOf(keyId), sent.length > 0, timer.delays], [5, true, []])
})

test('a restart of the service loses no counts', async () => {
  const { id: keyId } = await issue()
  const { instead, reporter } = open()
  let counted = 0
  for (let round = 0; round < 20; round++) {
    reporter.count({ keyId }, ++counted)
    if (round % 3 === 0) instead.push(async () => new Response('', { status: 503 }))
    if (round % 5 === 0) instead.push(away)
    await reporter.flush()
  }
  await reporter.close()
  assert.equal(await usageOf(keyId), (counted * (counted + 1)) / 2)
})

test('counting never throws and makes no call', () => {
  const { sent, reporter } = open()
  for (const requests of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
    reporter.count({ keyId: id(1) }, requests)
  assert.deepEqual([reporter.stats().pending, sent], [0, []])
  for (const sampleRate of [0, 1.1, Number.NaN, '1' as unknown as number]) {
    assert.throws(() => createUsageReporter({ ...connection, sampleRate }), /sampleRate/)
  }
  assert.throws(() => createUsageReporter({ ...connection, sample: 1 } as UsageReporterOptions), /sample/)
})

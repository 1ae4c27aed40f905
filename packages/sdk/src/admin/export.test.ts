import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { ManualTimer } from '../../test/manual-timer.ts'
import { startKeyrail } from '../../test/service.ts'
import { until } from '../../test/until.ts'
import { type AdminOptions, type AuditLog, createAdmin } from '../admin.ts'
import { KeyrailError } from '../runtime/errors.ts'
import { openAdmin } from './open.ts'

const { connection } = await startKeyrail()
const admin = createAdmin(connection)
for (let made = 0; made < 12; made++) {
  // A Unicode line break that does not end a line, and characters of several bytes that a chunk may cut.
  await admin.tenants.create({
    externalId: randomUUID(),
    name: `😀 ${made}`,
    meta: { note: 'Line\u2028Separator' },
  })
}
async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = []
  for await (const row of rows) read.push(row)
  return read
}
/** The log as an export has it: lists alone name the secret key. */
const log: AuditLog[] = (await all(admin.auditLogs.list({ limit: 200 }))).map(
  ({ actorSecretKey, ...row }) => row,
)

/** A client whose answers a test can change one by one, and the queries that it sent. */
function open(options: Partial<AdminOptions> = {}) {
  const timer = new ManualTimer()
  const queries: string[] = []
  const instead: ((body: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>)[] = []
  const changed: typeof fetch = async (url, init) => {
    queries.push(new URL(String(url)).search)
    const response = await fetch(url, init)
    const change = instead.shift()
    return change && response.body ? new Response(change(response.body), response) : response
  }
  const client = openAdmin({ ...connection, fetch: changed, ...options }, { timer, random: () => 0.5 })
  return { exported: client.auditLogs.export, timer, queries, instead }
}

/** A part of the answer, followed by `end`. */
const cut =
  (keep: (text: string) => string, end: (controller: ReadableStreamDefaultController<Uint8Array>) => void) =>
  (body: ReadableStream<Uint8Array>) => {
    let isSent = false
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (isSent) return end(controller)
          isSent = true
          controller.enqueue(Buffer.from(keep(await new Response(body).text())))
        },
      },
      { highWaterMark: 0 },
    )
  }
const firstLines =
  (count: number, more = 0) =>
  (text: string) => {
    const lines = text.split('\n')
    return [...lines.slice(0, count), ''].join('\n') + (lines[count] ?? '').slice(0, more)
  }
const ends = (controller: ReadableStreamDefaultController) => controller.close()
const breaks = (controller: ReadableStreamDefaultController) => controller.error(new Error('broken off'))

async function failure(rows: AsyncIterable<unknown>): Promise<KeyrailError> {
  const error = await all(rows).then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof KeyrailError, String(error))
  assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(connection.secretKey.slice(10)))
  return error
}

test('an export reads the log, whole or after a row, anew for each iteration', async () => {
  const { exported, queries } = open()
  assert.ok(log.length >= 12)
  const rows = exported()
  assert.deepEqual(queries, [])
  assert.deepEqual(await all(rows), log)
  assert.deepEqual(await all(rows), log)
  const behind = log[4]?.seq ?? 0
  assert.deepEqual(await all(exported({ afterSeq: behind })), log.slice(5))
  assert.deepEqual(await all(exported({ afterSeq: 9_999 })), [])
  assert.deepEqual(queries, ['', '', `?after_seq=${behind}`, '?after_seq=9999'])
})

test('a broken export continues after the last row, and returns each row once', async () => {
  const { exported, timer, queries, instead } = open({ maxRetries: 2 })
  instead.push(
    cut(firstLines(3, 40), breaks),
    // A complete answer by the rules of HTTP.
    cut(firstLines(4, 40), ends),
    cut(firstLines(0, 0), breaks),
  )
  const reading = all(exported())
  for (const failures of [1, 2, 3]) {
    await until(
      () => queries.length === failures && (timer.delays[0] ?? 30_000) < 10_000,
      'it waits to continue',
    )
    timer.pass(10_000)
  }
  assert.deepEqual(await reading, log)
  const [third, seventh] = [log[2]?.seq, log[6]?.seq]
  assert.deepEqual(queries, ['', `?after_seq=${third}`, `?after_seq=${seventh}`, `?after_seq=${seventh}`])
})

test('an export that fails repeatedly without a row between rejects', async () => {
  const { exported, queries, instead } = open({ maxRetries: 0 })
  for (const [keep, code] of [
    [firstLines(0, 20), 'bad_response'],
    [() => 'not a row\n', 'bad_response'],
    [() => '\n', 'bad_response'],
    [() => '{"object":"audit_log"}\n', 'bad_response'],
    [() => '{"object":"audit_log","seq":2}\n{"object":"audit_log","seq":2}\n', 'bad_response'],
    [() => `"${'x'.repeat(4 * 1024 * 1024)}`, 'response_too_large'],
  ] as const) {
    instead.push(cut(keep, ends))
    assert.equal((await failure(exported())).code, code)
  }
  instead.push(body =>
    body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        flush: controller => controller.enqueue(Uint8Array.of(0xff, 10)),
      }),
    ),
  )
  const error = await failure(exported())
  assert.deepEqual([error.code, error.retryable], ['bad_response', true])
  assert.match(error.message, /^GET \/v1\/audit_logs\/export was answered with bytes that are not UTF-8/)
  assert.equal(queries.length, 7)
})

test('an export that the service refuses rejects with its code, without a retry', async () => {
  const { exported, queries } = open()
  const error = await failure(exported({ afterSeq: -1 }))
  assert.deepEqual([error.code, error.status, queries.length], ['validation_failed', 400, 1])
})

/** A service that sends one row and then nothing, and ignores the caller's signal. */
const silent: typeof fetch = async () =>
  new Response(
    new ReadableStream<Uint8Array>({
      start: controller => controller.enqueue(Buffer.from(`${JSON.stringify(log[0])}\n`)),
    }),
  )

test('`timeoutMs` bounds the wait for data, not the whole export or pauses of the reader', async () => {
  const { exported, timer } = open({ fetch: silent, maxRetries: 0 })
  const rows = exported(undefined, { timeoutMs: 1_000 })[Symbol.asyncIterator]()
  assert.deepEqual((await rows.next()).value, log[0])
  assert.deepEqual(timer.delays, [])
  timer.pass(60_000)
  const next = assert.rejects(rows.next() as Promise<unknown>, { code: 'timeout' })
  await until(() => timer.delays.length === 1, 'it waits for data')
  assert.deepEqual(timer.delays, [1_000])
  timer.pass(1_000)
  await next
  assert.deepEqual(await rows.next(), { done: true, value: undefined })
})

test('a signal aborts an export before, between and after rows', async () => {
  const { exported } = open({ fetch: silent })
  assert.equal((await failure(exported({}, { signal: AbortSignal.abort() }))).code, 'aborted')
  const controller = new AbortController()
  const rows = exported({}, { signal: controller.signal })[Symbol.asyncIterator]()
  await rows.next()
  const next = assert.rejects(rows.next() as Promise<unknown>, { code: 'aborted' })
  controller.abort()
  await next

  const away = open({ fetch: () => Promise.reject(new Error(`away ${connection.secretKey}`)) })
  const other = new AbortController()
  const reading = failure(away.exported({}, { signal: other.signal }))
  await until(() => away.timer.delays.length === 1, 'it waits to retry')
  other.abort()
  assert.equal((await reading).code, 'aborted')
})

test('a reader that stops ends the request, so that its connection is free', async () => {
  const signals: AbortSignal[] = []
  const { exported } = open({
    fetch(url, init) {
      if (init?.signal) signals.push(init.signal)
      return fetch(url, init)
    },
  })
  for (let begun = 0; begun < 6; begun++) for await (const row of exported()) if (row.seq > 0) break
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    Array.from({ length: 6 }, () => true),
  )
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { ManualTimer } from '../../test/manual-timer.ts'
import { until } from '../../test/until.ts'
import type { AnswerHeaders } from '../idempotency/stored-answer.ts'
import { holdResponse } from './hold-response.ts'

interface Answered {
  status: number
  headers: Record<string, unknown>
  body: string | null
}

/** What middleware before the claim has done. */
interface Before {
  headers?: Record<string, string>
  flush?: () => void
}

/** One answer of a real server; `store` releases it. */
async function answer(
  handle: (response: ServerResponse) => void,
  maxBytes = 100,
  { headers = {}, flush }: Before = {},
) {
  const timer = new ManualTimer()
  const answers: Answered[] = []
  const ends: string[] = []
  const { promise: stored, resolve: store } = Promise.withResolvers<void>()
  const server = createServer((_, response) => {
    const claim = {
      async answered(status: number, headers: AnswerHeaders, body: Uint8Array | null) {
        answers.push({
          status,
          headers: Object.fromEntries(headers),
          body: body === null ? null : Buffer.from(body).toString(),
        })
        await stored
      },
      async release() {
        ends.push('released')
      },
      leave: () => void ends.push('left'),
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    if (flush) Object.assign(response, { flush })
    holdResponse(response, maxBytes, claim, { timer })
    handle(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => void server.close())
  const { port } = server.address() as AddressInfo
  const got = {
    text: '',
    begun: false,
    ended: false,
    response: undefined as IncomingMessage | undefined,
  }
  const asked = get({ port, host: '127.0.0.1', agent: false }, response => {
    got.begun = true
    got.response = response
    response.setEncoding('utf8').on('data', chunk => {
      got.text += chunk
    })
    response.on('end', () => {
      got.ended = true
    })
  })
  asked.on('error', () => {})
  const isReported = () => answers.length + ends.length === 1
  await until(() => isReported() || timer.delays.length > 0, 'it is reported, or has begun')
  return { answers, ends, got, store, timer }
}

test('nothing is sent before it is stored, and then everything as it was written', async () => {
  let written = 0
  const { answers, got, store } = await answer(response => {
    response.writeHead(201, 'Made', { 'x-a': '1', 'x-b': ['2', '3'] })
    assert.equal(response.headersSent, true)
    response.write('héllo ', () => written++)
    response.write('6869', 'hex')
    response.write(new Uint8Array([33]))
    response.end(' end', () => written++)
    response.end('again')
  })
  assert.deepEqual(answers, [
    { status: 201, headers: { 'x-a': '1', 'x-b': ['2', '3'] }, body: 'héllo hi! end' },
  ])
  assert.equal(got.begun, false)
  store()
  await until(() => got.ended && written === 2, 'it has arrived')
  assert.deepEqual(
    [got.text, got.response?.statusCode, got.response?.statusMessage, got.response?.headers['x-b']],
    ['héllo hi! end', 201, 'Made', '2, 3'],
  )
})

test('headers are read in every form that writeHead takes', async () => {
  for (const headers of [{ a: 'b' }, ['a', 'b'], [['a', 'b']]]) {
    const { answers, store } = await answer(response => response.writeHead(200, headers as string[]).end())
    assert.deepEqual([answers[0]?.headers, answers[0]?.body], [{ a: 'b' }, ''])
    store()
  }
})

test('an answer that grows too large is stored without its body, and then passes as it comes', async () => {
  let response: ServerResponse | undefined
  const { answers, got, store } = await answer(given => {
    response = given
    given.setHeader('content-length', '160')
    for (let piece = 0; piece < 11; piece++) given.write('x'.repeat(10))
  })
  assert.deepEqual([answers[0]?.body, got.begun], [null, false])
  store()
  await until(() => got.text.length === 110, 'it passes')
  response?.write('y'.repeat(25))
  await until(() => got.text.length === 135, 'it passes at once')
  response?.end('z'.repeat(25))
  await until(() => got.ended, 'it ends')
  assert.deepEqual([got.text.length, answers.length], [160, 1])
})

test('a chunk that is too large, and flushed headers, are stored without a body', async () => {
  const large = await answer(response => response.end('x'.repeat(101)))
  assert.equal(large.answers[0]?.body, null)
  large.store()
  await until(() => large.got.ended, 'it has arrived')
  assert.equal(large.got.text.length, 101)

  let response: ServerResponse | undefined
  const flushed = await answer(given => {
    response = given
    given.setHeader('content-type', 'text/event-stream')
    given.flushHeaders()
  })
  assert.equal(flushed.answers[0]?.body, null)
  flushed.store()
  await until(() => flushed.got.begun, 'the headers have arrived')
  response?.end('done')
  await until(() => flushed.got.ended, 'it has arrived')
  assert.equal(flushed.got.text, 'done')
})

test('an answer that has not ended 500 ms after its first byte passes as it comes', async () => {
  let response: ServerResponse | undefined
  const { answers, got, store, timer } = await answer(given => {
    response = given
    given.write('a')
  })
  assert.deepEqual([timer.delays, answers], [[500], []])
  timer.pass(499)
  response?.write('b')
  assert.deepEqual([timer.delays, answers], [[1], []])
  timer.pass(1)
  assert.deepEqual([timer.delays, answers[0]?.body], [[], null])
  store()
  await until(() => got.text === 'ab', 'it passes')
  response?.end('c')
  await until(() => got.ended, 'it has arrived')
  assert.deepEqual([got.text, answers.length], ['abc', 1])

  const whole = await answer(given => {
    given.write('a')
    given.end('b')
  })
  assert.deepEqual([whole.timer.delays, whole.answers[0]?.body], [[], 'ab'])
  whole.store()
})

test('flush of compression lets an answer pass as it comes', async () => {
  let response: ServerResponse | undefined
  let flushed = 0
  const { answers, got, store } = await answer(
    given => {
      response = given
      given.write('a')
      Reflect.apply(Reflect.get(given, 'flush'), given, [])
    },
    100,
    { flush: () => flushed++ },
  )
  assert.deepEqual([answers[0]?.body, flushed], [null, 0])
  store()
  await until(() => got.text === 'a', 'it passes')
  assert.equal(flushed, 1)
  response?.end()
})

test('headers that were set before the claim are not stored, unless they were changed', async () => {
  const before = { 'x-same': '1', 'x-changed': '1' }
  const { answers, store } = await answer(
    given => given.setHeader('x-changed', '2').setHeader('x-new', '3').end('made'),
    100,
    { headers: before },
  )
  assert.deepEqual(answers[0]?.headers, { 'x-changed': '2', 'x-new': '3' })
  store()
})

test('once an answer has begun, its head cannot change and does not look changeable', async () => {
  const sent = { code: 'ERR_HTTP_HEADERS_SENT' }
  for (const begin of [
    (response: ServerResponse) => response.writeHead(201, { 'x-a': '1' }),
    (response: ServerResponse) => {
      response.statusCode = 201
      response.setHeader('x-a', '1').write('')
    },
  ]) {
    const { answers, got, store } = await answer(response => {
      assert.deepEqual([response.headersSent, response.writableEnded], [false, false])
      begin(response)
      assert.deepEqual([response.headersSent, response.writableEnded], [true, false])
      assert.throws(() => response.setHeader('x-a', '2'), sent)
      assert.throws(() => response.appendHeader('x-a', '2'), sent)
      assert.throws(() => response.removeHeader('x-a'), sent)
      assert.throws(() => response.writeHead(500), sent)
      Object.assign(response, { statusCode: 500, statusMessage: 'Broken' })
      response.end('made')
      assert.deepEqual([response.headersSent, response.writableEnded], [true, true])
    })
    assert.deepEqual(answers, [{ status: 201, headers: { 'x-a': '1' }, body: 'made' }])
    store()
    await until(() => got.ended, 'it has arrived')
    const { statusCode, statusMessage, headers } = got.response as IncomingMessage
    assert.deepEqual(
      [statusCode, statusMessage, headers['x-a'], headers['content-length']],
      [201, 'Created', '1', '4'],
    )
  }
})

test('replaced writeHead is called once, and headers that it sets are stored', async () => {
  const begun = { outside: 0 }
  const { answers, got, store } = await answer(response => {
    const { writeHead } = response
    Object.assign(response, {
      writeHead(...given: unknown[]) {
        begun.outside++
        response.setHeader('x-began', '1')
        return writeHead.apply(response, given as never)
      },
    })
    response.end('made')
  })
  assert.deepEqual(answers[0]?.headers, { 'x-began': '1' })
  store()
  await until(() => got.ended, 'it has arrived')
  assert.deepEqual([begun.outside, got.response?.headers['x-began']], [1, '1'])
})

test('an invalid status or chunk, and a write after the end, fail as in Node', async () => {
  const late: (string | undefined)[] = []
  const hear = (error?: Error | null) => void late.push((error as { code?: string } | undefined)?.code)
  const { answers, store } = await answer(response => {
    assert.throws(() => response.writeHead(1_000), { code: 'ERR_HTTP_INVALID_STATUS_CODE' })
    assert.throws(() => response.write(5), { code: 'ERR_INVALID_ARG_TYPE' })
    assert.throws(() => response.end({}), { code: 'ERR_INVALID_ARG_TYPE' })
    assert.equal(response.headersSent, false)
    response.end('made')
    assert.equal(response.write('more', 'utf8', hear), false)
    response.end(hear)
  })
  assert.equal(answers[0]?.body, 'made')
  await until(() => late.length === 2, 'both late calls have failed')
  assert.deepEqual(late, ['ERR_STREAM_WRITE_AFTER_END', 'ERR_STREAM_ALREADY_FINISHED'])
  store()
})

test('a header named twice in a list is sent twice', async () => {
  const { got, store } = await answer(response => {
    response.writeHead(200, ['set-cookie', 'a=1', 'Set-Cookie', 'b=2']).end()
  })
  store()
  await until(() => got.ended, 'it has arrived')
  assert.deepEqual(got.response?.headers['set-cookie'], ['a=1', 'b=2'])
})

test('a source faster than the store has to wait for drain', async () => {
  let response: ServerResponse | undefined
  let drained = 0
  const { got, store } = await answer(given => {
    response = given
    given.on('drain', () => drained++)
    assert.equal(given.write('x'.repeat(100)), true)
    assert.equal(given.write('x'), false)
  })
  assert.equal(drained, 0)
  store()
  await until(() => drained === 1, 'drain is emitted')
  response?.end('y')
  await until(() => got.ended, 'it has arrived')
  assert.equal(got.text, `${'x'.repeat(101)}y`)
})

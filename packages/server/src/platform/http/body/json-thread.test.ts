import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'
import { startHarness } from '../../../../test/harness.ts'
import { claimScope, makeVendor } from '../../../../test/vendor.ts'
import { Refusal } from '../../refusal.ts'
import { parseJson, parseOddJson } from './json.ts'
import { openJsonThread } from './json-thread.ts'

const thread = openJsonThread({ error: () => {} })
after(() => thread.close())

/** The value that is read, or the refusal. */
async function outcome(read: () => unknown): Promise<unknown> {
  try {
    return await read()
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
    return [error.code, error.detail, error.faults]
  }
}

test('the thread reads and refuses like parseJson and the reader', async () => {
  assert.ok(isMainThread)
  for (const text of [
    '{"a":[1,-0.5,"é😀",null,true],"__proto__":{"x":1},"constructor":2}',
    '[{"a":1,"a":2}]',
    '{"a":["\\u0000"]}',
    '{"a":"\\ud800"}',
    '[9007199254740993]',
    '['.repeat(40),
    '{',
    '',
    '\uFEFF{}',
    '"\xff"',
  ]) {
    const bytes = () => Buffer.from(text, text.includes('\xff') ? 'latin1' : 'utf8')
    const [strict, odd] = [
      await outcome(() => thread.parse(bytes(), 'a')),
      await outcome(() => thread.parseOdd(bytes(), 'a')),
    ]
    assert.deepEqual(strict, await outcome(() => parseJson(bytes())), text)
    assert.deepEqual(odd, await outcome(() => parseOddJson(bytes())), text)
  }
})

test('bytes are transferred and not copied, unless their memory is shared', async () => {
  const own = Buffer.from(new TextEncoder().encode('{"a":1}').buffer)
  assert.deepEqual(await thread.parse(own, 'a'), { a: 1 })
  assert.equal(own.length, 0)
  const shared = Buffer.from('{"a":1}')
  assert.ok(shared.buffer.byteLength > shared.length)
  assert.deepEqual(await thread.parse(shared, 'a'), { a: 1 })
  assert.equal(String(shared), '{"a":1}')
})

test('a sender with too many waiting texts gets 503', async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => outcome(() => thread.parse(Buffer.from('1'), 'a'))),
  )
  const refused = answers.filter(answer => answer !== 1)
  assert.ok(refused.length > 0 && refused.length < 200)
  for (const answer of refused) assert.deepEqual(answer, ['unavailable', '', []])
})

test('senders take turns, however many texts of one wait', async () => {
  const order: string[] = []
  const read = async (sender: string) => {
    await thread.parse(Buffer.from('1'), sender)
    order.push(sender)
  }
  const flood = Array.from({ length: 40 }, () => read('a'))
  await Promise.all([...flood, read('b')])
  assert.ok(order.indexOf('b') <= 2, order.join(' '))
})

test('a large body is read in the thread, not in the one that serves requests', async () => {
  const harness = await startHarness()
  const vendor = await makeVendor(harness)
  const { ask } = harness
  const { parse } = JSON
  const { from } = Buffer
  let longest = 0
  JSON.parse = (...args: Parameters<typeof parse>) => {
    longest = Math.max(longest, String(args[0]).length)
    return parse(...args)
  }
  Buffer.from = ((...args: [string, string]) => {
    if (args[1] === 'base64') longest = Math.max(longest, args[0].length)
    return Reflect.apply(from, Buffer, args)
  }) as typeof from
  try {
    const held = await claimScope(harness, vendor)
    const body = Buffer.alloc(4_500_000, 7).toString('base64')
    const { status, body: heard } = await ask('POST', '/v1/idempotency/complete', {
      token: vendor.live,
      body: { ...held, status: 200, headers: { 'content-type': 'text/plain' }, body },
    })
    assert.deepEqual([status, heard.verdict], [200, 'completed'])
    for (const [wrong, path] of [
      [`${body.slice(0, -1)}!`, 'body'],
      [body.padEnd(6_291_460, 'A'), 'body'],
    ]) {
      const refused = await ask('POST', '/v1/idempotency/complete', {
        token: vendor.live,
        body: { ...held, status: 200, body: wrong },
      })
      assert.deepEqual([refused.status, refused.body.errors?.[0]?.path], [400, path])
    }
    const record = { key_id: vendor.tenantId, hour: new Date().toISOString(), count: 1 }
    const report = {
      report_id: crypto.randomUUID(),
      sample_rate: 1,
      records: Array.from({ length: 1_000 }, () => record),
    }
    const usage = await ask('POST', '/v1/usage/reports', {
      token: vendor.live,
      body: JSON.stringify(report, null, 10).padEnd(1_048_576),
    })
    assert.equal(usage.status, 202)
    const odd = await ask('POST', '/v1/usage/reports', {
      token: vendor.live,
      body: `{"sample_rate":1,"sample_rate":1${' '.repeat(300_000)}}`,
    })
    assert.deepEqual(
      [odd.status, odd.body.code, odd.body.detail],
      [400, 'malformed_json', 'sample_rate: is given twice'],
    )
    assert.ok(longest < 10_000, `${longest} characters were parsed`)
  } finally {
    JSON.parse = parse
    Buffer.from = from
  }
  await setImmediate()
})

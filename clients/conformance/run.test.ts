import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command, Json, LoadedCase } from './case.ts'
import { type Driver, defaults, runCases } from './run.ts'

/** The runner finds each way in which a node can differ from a case. */

type Ask = (path: string, init?: RequestInit) => Promise<Response>

/** A node that does this when it polls, and gives these verdicts. */
function driverOf(
  poll: (ask: Ask) => Promise<Json>,
  others: (command: Command) => Json = () => ({}),
): Driver {
  let url = ''
  const authorization = `Bearer ${defaults.secret_key}`
  const ask: Ask = (path, { headers, ...init } = {}) =>
    fetch(url + path, { ...init, headers: { authorization, ...headers } })
  return {
    async send(command) {
      if (command.op === 'open') {
        url = String(command.url)
        return {}
      }
      return command.op === 'poll' ? await poll(ask) : others(command)
    },
  }
}

const asking = (path: string, init?: RequestInit) => async (ask: Ask) => {
  await (await ask(path, init)).text()
  return { outcome: 'snapshot' }
}

const caseOf = (...steps: LoadedCase['steps']): LoadedCase => ({
  name: 'a case',
  from: 'run.test.ts',
  file: 'some.json',
  steps,
})
const polls = { do: { op: 'poll' }, gives: { outcome: 'snapshot' } }

async function run(driver: Driver, ...steps: LoadedCase['steps']) {
  for await (const { outcome, why } of runCases(driver, [caseOf(...steps)])) return { outcome, why }
  throw new Error('nothing ran')
}

test('a node that asks and answers as the case says passes', async () => {
  const driver = driverOf(
    asking('/v1/policy/snapshot?project_id=1&nonce=a&features=x,y', { headers: { prefer: 'wait=5' } }),
  )
  const asked = {
    path: '/v1/policy/snapshot',
    query: { project_id: '1', cursor: null },
    prefer: 'wait=5',
    features: ['y'],
    fresh: true,
  }
  assert.deepEqual(await run(driver, { answer: { body: {} }, asked }, polls), { outcome: 'passed', why: [] })
})

test('each wrong part of a request is named, with what was expected and what came', async () => {
  const driver = driverOf(
    asking('/v1/policy/delta?since=7', { method: 'POST', body: '{"records":[{"count":1}]}' }),
  )
  for (const [asked, says] of [
    [{ path: '/v1/policy/snapshot' }, 'path: expected "/v1/policy/snapshot", got "/v1/policy/delta"'],
    [{ query: { since: '8' } }, 'query since: expected "8", got "7"'],
    [{ query: { since: null } }, 'query since: expected null, got "7"'],
    [{ prefer: 'wait=25' }, 'Prefer: expected "wait=25", got null'],
    [{ fresh: true }, 'nonce: expected "a new one", got null'],
    [{ features: ['held_ms'] }, 'query features: expected ["held_ms"], got [""]'],
    [{ body: { records: [{ count: 2 }] } }, 'body: expected {"records":[{"count":2}]}'],
    [{ body: { records: [] } }, 'body: expected {"records":[]}'],
    [{ body: { records: { unordered: [{ count: 2 }] } } }, 'body: expected {"records":{"unordered":'],
    [{ anew: ['report_id'] }, 'body report_id: expected "a new one"'],
  ] as const) {
    const { outcome, why } = await run(driver, { answer: { body: {} }, asked }, polls)
    assert.equal(outcome, 'failed')
    assert.ok(why[0]?.includes(`step 1: POST /v1/policy/delta: ${says}`), why[0])
  }
})

test('a repeated nonce, a report that differs and one that repeats are found', async () => {
  let at = 0
  const driver = driverOf(async ask => {
    at += 1
    return await asking('/v1/usage/reports?nonce=same', {
      method: 'POST',
      body: JSON.stringify({ id: Math.min(at, 5) }),
    })(ask)
  })
  const answer = { body: {} }
  for (const [first, second, says] of [
    [{ fresh: true }, { fresh: true }, 'nonce'],
    [{}, { again: ['id'] }, 'body id: expected 3, got 4'],
    [{ anew: ['id'] }, { anew: ['id'] }, 'body id: expected "a new one"'],
  ] as const) {
    const { why } = await run(driver, { answer, asked: first }, polls, { answer, asked: second }, polls)
    assert.ok(why[0]?.includes(says), why[0])
  }
})

test('a request without an answer, and an answer without a request, fail the case', async () => {
  const asks = driverOf(asking('/v1/policy/snapshot'))
  assert.match(
    (await run(asks, polls)).why[0] ?? '',
    /asked GET \/v1\/policy\/snapshot, and no answer was queued/,
  )
  const rests = driverOf(async () => ({ outcome: 'snapshot' }))
  assert.deepEqual((await run(rests, { answer: { body: {} } }, polls)).why, [
    'step 1: nobody asked for this answer',
  ])
})

test('the secret key outside of its header fails the case, and so does a request without it', async () => {
  const answer = { answer: { body: {} } }
  for (const [path, init, says] of [
    [`/v1/policy/snapshot?key=${defaults.secret_key}`, {}, 'stands outside'],
    ['/v1/policy/snapshot', { headers: { 'x-key': defaults.secret_key } }, 'stands outside'],
    ['/v1/policy/snapshot', { method: 'POST', body: defaults.secret_key }, 'stands outside'],
    ['/v1/policy/snapshot', { headers: { authorization: 'Bearer x' } }, 'is not Bearer'],
  ] as const) {
    const { why } = await run(driverOf(asking(path, init)), answer, polls)
    assert.ok(why[0]?.includes(says), why[0])
  }
})

test('each member of an answer is compared: delays by range, headers by name', async () => {
  const got = { code: 'a', delay: 100, headers: { x: '1', y: '2' }, list: [1] }
  const driver = driverOf(
    async () => ({}),
    () => got,
  )
  const says = async (gives: Json) => (await run(driver, { do: { op: 'verify' }, gives })).why[0]
  for (const right of [
    { code: 'a', list: [1], none: null },
    { code: { any: ['b', 'a'] } },
    { delay: [100, 100] },
    { headers: { x: '1', z: null } },
  ])
    assert.equal(await says(right), undefined)
  assert.equal(await says({ code: 'b' }), 'step 1, verify: code: expected "b", got "a"')
  assert.equal(await says({ code: { any: ['b'] } }), 'step 1, verify: code: expected {"any":["b"]}, got "a"')
  assert.equal(await says({ delay: [0, 99] }), 'step 1, verify: delay: expected 0 to 99, got 100')
  assert.equal(await says({ delay: null }), 'step 1, verify: delay: expected null, got 100')
  assert.equal(await says({ headers: { x: null } }), 'step 1, verify: headers.x: expected null, got "1"')
  assert.equal(await says({ list: [1, 2] }), 'step 1, verify: list: expected [1,2], got [1]')
  assert.equal(await says({ more: 1 }), 'step 1, verify: more: expected 1, got nothing')
})

test('what a driver does not support is skipped, and a driver that fails is told', async () => {
  const answering = (answer: Json) =>
    driverOf(
      async () => answer,
      () => answer,
    )
  assert.deepEqual(await run(answering({ unsupported: true }), { do: { op: 'gate' } }), {
    outcome: 'skipped',
    why: ['gate'],
  })
  assert.deepEqual(await run(answering({ failed: 'so it is' }), { do: { op: 'gate' } }), {
    outcome: 'failed',
    why: ['gate: the driver failed: so it is'],
  })
})

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type Between, type Fate, now, VirtualFleet } from './virtual-feed.ts'

/** A service that is well must not end in nodes that refuse every key, whatever lies between them. */

const TTL_MS = 60_000
const TEN_MINUTES_MS = 600_000
const REVOKED_AT = 300_000

let fleet: VirtualFleet
let nodes: (ReturnType<VirtualFleet['open']> & { name: string; refusals: number[] })[]
beforeEach(() => {
  fleet = new VirtualFleet(REVOKED_AT)
  nodes = []
})
afterEach(() => fleet.close(nodes.map(({ keyring }) => keyring)))

const open = (name: string, between: Between) => {
  const node = { name, refusals: [], ...fleet.open(between) }
  nodes.push(node)
  return node
}

/** Notes when a good key is refused, and ends the test when a revoked one is served for too long. */
async function play(milliseconds = TEN_MINUTES_MS) {
  await fleet.pass(1_000)
  await fleet.pass(milliseconds, () => {
    for (const { keyring, refusals, name } of nodes) {
      if (!keyring.verify(fleet.good).valid) refusals.push(now())
      if (now() > REVOKED_AT + TTL_MS) assert.ok(!keyring.verify(fleet.revoked).valid, name)
    }
  })
}

const causes: readonly Fate[] = [408, 502, 503, 504, 'reset']
const seconds = [5, 7, 10, 14, 17, 20, 24, 30]

test('a gateway that ends held polls early costs no refusal, and is reported a few times', async () => {
  for (const fate of causes)
    for (const each of seconds) open(`${fate} after ${each} s`, { gateway: { afterMs: each * 1_000, fate } })
  await play()
  for (const { name, refusals, errors, sent } of nodes) {
    assert.deepEqual(refusals, [], name)
    assert.ok(errors.length <= 6, `${name}: ${errors.length} errors`)
    const held = sent.filter(({ at, heldMs }) => at > TEN_MINUTES_MS / 2 && heldMs > 0)
    assert.ok(held.length > 0, `${name}: polls are held again`)
    assert.ok(sent.length < (TEN_MINUTES_MS / 5_000) * 1.3, `${name}: ${sent.length} requests`)
  }
})

test('a gateway that answers held polls with another body costs no refusal', async () => {
  const bodies = ['', 'null', '{"object":"policy_delta"}', '<h1>Sorry</h1>']
  for (const body of bodies)
    open(body, { gateway: { afterMs: 12_000, fate: new Response(body, { status: 200 }) } })
  await play()
  for (const { name, refusals } of nodes) assert.deepEqual(refusals, [], name)
})

test('two answers with a Retry-After of 30 s cost no refusal, whenever they come', async () => {
  const busy = new Response('', { status: 503, headers: { 'retry-after': '30' } })
  for (let from = 0; from < 60; from += 3) {
    let times = 0
    open(`from ${from} s`, {
      on: ({ at }) => (at > 10_000 + from * 1_000 && times++ < 2 ? busy : 'works'),
    })
  }
  await play(180_000)
  for (const { name, refusals } of nodes) assert.deepEqual(refusals, [], name)
})

test('connections that die cost no refusal after 15 s, and few seconds after a minute', async () => {
  for (const lasts of [1, 15, 60])
    for (let from = 20; from < 80; from += 4) {
      const cutAt = (at: number) => at >= from * 1_000 && at < (from + lasts) * 1_000
      open(`${lasts} s from ${from} s`, { cutAt })
    }
  await play(180_000)
  for (const { name, refusals } of nodes) {
    const [lasts = 0, from = 0] = name.split(' s from ').map(Number.parseFloat)
    const lastMs = refusals.at(-1) ?? 0
    if (lasts < 60) assert.deepEqual(refusals, [], name)
    else assert.ok(lastMs <= (from + lasts) * 1_000 + 15_000, `${name}: until ${lastMs}`)
  }
})

const HOUR_MS = 3_600_000

test('clocks that are wrong, apart, or set ahead or back cost no refusal', async () => {
  for (const wrong of [-HOUR_MS, -45_000, 45_000, HOUR_MS]) {
    open(`a service clock ${wrong} ms ahead`, { aheadMs: () => wrong })
    open(`proxies whose clock is ${wrong} ms ahead`, { dateAheadMs: () => wrong })
    open(`a proxy of two, ${wrong} ms ahead`, { dateAheadMs: ({ at }) => ((at / 250) % 2 ? wrong : 0) })
    for (const from of [31, 37, 52]) {
      const after = ({ at }: { at: number }) => (at >= from * 1_000 ? wrong : 0)
      open(`a service clock set by ${wrong} ms at ${from} s`, { aheadMs: after })
      open(`the same behind proxies at ${from} s`, { aheadMs: after, dateAheadMs: () => 0 })
    }
    let times = 0
    open(`one answer ${wrong} ms ahead`, { aheadMs: () => (times++ === 7 ? wrong : 0) })
    let dated = 0
    open(`one Date ${wrong} ms ahead`, { dateAheadMs: () => (dated++ === 7 ? wrong : 0) })
  }
  for (const apart of [1_000, 3_000, 10_000]) {
    let turns = 0
    open(`two processes ${apart} ms apart`, { aheadMs: () => (turns++ % 2) * apart })
    let asked = 0
    open(`three of them ${apart} ms apart, after one an hour ahead`, {
      aheadMs: () => (asked++ < 3 ? HOUR_MS : (asked % 3) * apart),
    })
  }
  await play()
  for (const { name, refusals, errors } of nodes) {
    assert.deepEqual(refusals, [], name)
    assert.ok(errors.length <= 3, `${name}: ${errors}`)
  }
})

test('no held request can outlast half of the life of the keys, and none is sent for stale ones', async () => {
  let isAway = false
  const { sent, keyring } = open('a node', { on: () => (isAway ? 'hangs' : 'works') })
  for (const away of [false, true, false]) {
    isAway = away
    await fleet.pass(100_000, () => {
      const { at = 0, heldMs = 0 } = sent.at(-1) ?? {}
      const ageMs = keyring.stats().confirmedAgeMs
      if (at !== now() || heldMs === 0 || ageMs === null) return
      assert.ok(heldMs + 5_000 <= (TTL_MS - ageMs) / 2, `${heldMs} ms held at an age of ${ageMs} ms`)
    })
  }
  assert.ok(keyring.verify(fleet.good).valid)
})

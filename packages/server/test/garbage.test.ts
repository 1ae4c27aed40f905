import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startHarness } from './harness.ts'
import { makeVendor } from './vendor.ts'
import { openWire } from './wire.ts'

const harness = await startHarness()
const vendor = await makeVendor(harness)
const wire = await openWire(harness)

const LARGE = 8_000

setFlagsFromString('--expose-gc')
const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc')

const oldBytes = (): number =>
  getHeapSpaceStatistics()
    .filter(({ space_name }) => !space_name.startsWith('new_'))
    .reduce((bytes, space) => bytes + space.space_used_size, 0)

/** Bytes of each request that outlive the collection of young objects, which is the frequent one. */
async function keptBytesOf(ask: (n: number) => Promise<unknown>): Promise<number> {
  const requests = 300
  for (let n = 0; n < 50; n++) await ask(n)
  collect()
  const before = oldBytes()
  for (let n = 0; n < requests; n++) await ask(n)
  // Objects that outlive two become old ones.
  for (let n = 0; n < 3; n++) collect({ type: 'minor' })
  return (oldBytes() - before) / requests
}

test('an answered request leaves nothing that outlives the collection of young objects', async () => {
  const socket = await wire.open()
  const check = JSON.stringify({
    ...{ project_id: vendor.projectId, env: 'live', key_id: vendor.projectId },
    limits: [{ id: 'minute', limit: 1_000_000, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }],
  })
  for (const [line, body] of [
    ['GET /healthz', ''],
    ['POST /v1/ratelimit/check', check],
  ] as const) {
    const ask = async (n: number) => {
      const head = [
        `${line} HTTP/1.1`,
        'host: here',
        `authorization: Bearer ${vendor.live}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        `x-large: ${n} ${'x'.repeat(LARGE)}`,
      ]
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
      const [answer] = await once(socket, 'data')
      assert.match(String(answer), /^HTTP\/1\.1 200/)
    }
    const kept = await keptBytesOf(ask)
    // A request that is kept has its large header.
    assert.ok(kept < LARGE, `${line} kept ${Math.round(kept)} bytes of each request`)
  }
  socket.destroy()
})

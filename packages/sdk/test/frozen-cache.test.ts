import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { openKeyring } from '../src/keyring/keyring.ts'
import { project, secretKey, startFeedService } from './feed-service.ts'
import { listen } from './fetch-server.ts'
import { drawKey, id, policyKey } from './keys.ts'
import { until } from './until.ts'

/** A proxy that caches the feed although it must not, and gives each answer a new `Date` and no `Age`. */

interface Kept {
  status: number
  type: string
  body: string
}

/** @param nameOf the name under which an answer is kept; answers without one are not cached */
async function openCache(origin: string, clock: () => number, nameOf: (url: URL) => string | undefined) {
  const kept = new Map<string, Kept>()
  const counts = { hits: 0 }
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', origin)
    const name = nameOf(url)
    let answer = name === undefined ? undefined : kept.get(name)
    if (answer === undefined) {
      const { status, headers, ...fetched } = await fetch(url, {
        headers: { authorization: String(request.headers.authorization) },
      }).then(async each => ({ status: each.status, headers: each.headers, body: await each.text() }))
      answer = { status, type: String(headers.get('content-type')), ...fetched }
      if (name !== undefined) kept.set(name, answer)
    } else counts.hits++
    response.writeHead(answer.status, { 'content-type': answer.type, date: new Date(clock()).toUTCString() })
    response.end(answer.body)
  })
  return { url: await listen(server), counts }
}

const withoutNonce = (url: URL) => {
  url.searchParams.delete('nonce')
  return url.href
}

async function openNode(nameOf: (url: URL) => string | undefined) {
  const service = await startFeedService()
  const time = { passedMs: 0 }
  const epoch = Date.now()
  service.clock = () => epoch + time.passedMs
  const keys = [drawKey(), drawKey()] as const
  for (const [at, key] of keys.entries()) service.upsert(policyKey(key, at + 1))
  const cache = await openCache(service.url, service.clock, nameOf)
  const errors: string[] = []
  const keyring = openKeyring(
    { url: cache.url, secretKey, project, pollIntervalMs: 100, onError: error => errors.push(error.message) },
    { clock: { wall: service.clock, monotonic: () => time.passedMs }, random: Math.random },
  )
  after(async () => {
    await keyring.close()
    await service.close()
  })
  await keyring.ready()
  const polled = async () => {
    const { unchanged } = keyring.stats().polls
    await until(() => keyring.stats().polls.unchanged > unchanged + 1, 'it has polled')
  }
  return { service, time, cache, errors, keyring, polled, keys }
}

test('behind a cache that ignores the query’s end, keys go stale in time, with one report', async () => {
  const { service, time, cache, errors, keyring, polled, keys } = await openNode(withoutNonce)
  await polled()
  service.revoke(id(2))
  for (time.passedMs = 5_000; time.passedMs < 60_000; time.passedMs += 5_000) {
    await polled()
    assert.ok(keyring.verify(keys[0]).valid, `after ${time.passedMs} ms`)
  }
  for (const now of [60_000, 69_000, 600_000]) {
    time.passedMs = now
    await polled()
    assert.deepEqual(
      keys.map(key => keyring.verify(key).code),
      ['stale', 'stale'],
      `after ${now} ms`,
    )
  }
  assert.ok(cache.counts.hits > 10)
  assert.equal(errors.length, 1, String(errors))
  assert.match(errors[0] ?? '', /old, as from a cache.*although something gave it a newer Date/)
})

test('a cache that heeds the whole query answers nothing in place of the service', async () => {
  const { service, time, cache, errors, keyring, polled, keys } = await openNode(({ href }) => href)
  service.revoke(id(2))
  for (time.passedMs = 5_000; time.passedMs < 130_000; time.passedMs += 5_000) await polled()
  assert.deepEqual(
    keys.map(key => keyring.verify(key).code),
    ['valid', 'revoked_key'],
  )
  assert.deepEqual([cache.counts.hits, errors], [0, []])
})

import { PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { PolicyKey } from '@keyrail/contract/feed'
import { digestFromBase64 } from '../../packages/sdk/src/runtime/digest.ts'
import { readRateLimits } from '../../packages/sdk/src/store/rate-limits.ts'
import { Store } from '../../packages/sdk/src/store/store.ts'
import { serveGenerator } from '../harness/generator.ts'
import { feedKey, idOf } from './feed-keys.ts'

/**
 * One arm of the memory bench, in its own process: the SDK's store, or the same keys of the feed in a Map. Keys arrive
 * page by page as JSON, as from a socket. Each is looked up once before the memory is read, so that anything a look-up
 * keeps is counted; then look-ups go on, and the collector's pauses are recorded.
 */
export type StorePlan = { work: 'store' | 'map'; keys: number; seconds: number }
export type StoreCounts = {
  bytesPerKey: number
  pauseP99Ms: number
  pauses: number
  answer: { found: number; ids: string }
}

const PAGE_KEYS = 5_000
const BATCH = 10_000

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

await serveGenerator<StorePlan, StoreCounts>(async ({ work, keys, seconds }) => {
  const digests = new BigUint64Array(keys * 4)
  const before = usedBytes()
  const look = work === 'store' ? fillStore(keys, digests) : fillMap(keys, digests)
  let found = 0
  for (let number = 0; number < keys; number++) if (look(number) !== undefined) found++
  const bytesPerKey = (usedBytes() - before) / keys
  const probes = [0, 1, keys >> 1, keys - 1]
  const ids = probes.every(number => look(number) === idOf(`key ${number}`)) ? 'right' : 'wrong'

  const pauses: number[] = []
  const observer = new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) pauses.push(duration)
  })
  observer.observe({ entryTypes: ['gc'] })
  const deadline = performance.now() + seconds * 1_000
  for (let at = 0; performance.now() < deadline; at = (at + BATCH) % keys) {
    for (let number = at; number < at + BATCH; number++) {
      if (look(number % keys) === undefined) throw new Error(`key ${number} is lost`)
    }
    // The observer is called between two turns of the loop.
    await new Promise(resolve => setImmediate(resolve))
  }
  observer.disconnect()
  pauses.sort((one, other) => one - other)
  const pauseP99Ms = pauses[Math.ceil(pauses.length * 0.99) - 1] ?? 0
  return { bytesPerKey, pauseP99Ms, pauses: pauses.length, answer: { found, ids } }
})

/** The id of the key with this number. Its result is garbage at once, like a verdict. */
type Look = (number: number) => string | undefined

/** Digests of all keys by number, outside the measurement: hashing them again would be most of the work. */
function digestAt(digests: BigUint64Array, number: number, encoding: BufferEncoding): string {
  return Buffer.from(digests.buffer, number * 32, 32).toString(encoding)
}

function fillStore(keys: number, digests: BigUint64Array): Look {
  const store = new Store(keys)
  for (const { key_id, tenant_id, env, lookup_hash, scopes, rate_limits, expires_at } of feedKeys(
    keys,
    digests,
  )) {
    store.upsert({
      keyId: key_id,
      tenantId: tenant_id,
      env,
      digest: digestFromBase64(lookup_hash) ?? '',
      scopes,
      rateLimits: readRateLimits(rate_limits) ?? undefined,
      expiresAt: expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at),
    })
  }
  const { records } = store
  return number => {
    const slot = store.find(digestAt(digests, number, 'utf16le'))
    if (slot === -1) return undefined
    const verdict = {
      keyId: records.keyId(slot),
      tenantId: records.tenantId(slot),
      scopes: records.scopes(slot),
      rateLimits: records.rateLimits(slot),
      expiresAt: records.end(slot),
    }
    return verdict.keyId
  }
}

function fillMap(keys: number, digests: BigUint64Array): Look {
  const map = new Map<string, PolicyKey>()
  for (const key of feedKeys(keys, digests)) map.set(key.lookup_hash, key)
  return number => {
    const key = map.get(digestAt(digests, number, 'base64'))
    return key && { ...key }.key_id
  }
}

function* feedKeys(keys: number, digests: BigUint64Array): Generator<PolicyKey> {
  const bytes = new Uint8Array(digests.buffer)
  for (let from = 0; from < keys; from += PAGE_KEYS) {
    const page = Array.from({ length: Math.min(PAGE_KEYS, keys - from) }, (_, at) => feedKey(from + at))
    for (const [at, { lookup_hash }] of page.entries())
      bytes.set(Buffer.from(lookup_hash, 'base64'), (from + at) * 32)
    yield* JSON.parse(JSON.stringify(page))
  }
}

/** The heap and the memory outside it, after a full collection. */
function usedBytes(): number {
  for (let times = 0; times < 4; times++) collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

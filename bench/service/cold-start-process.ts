import { readFileSync } from 'node:fs'
import type { PolicySnapshot } from '@keyrail/contract/feed'
import { DiskCache } from '../../packages/sdk/src/disk/cache.ts'
import type { Scope } from '../../packages/sdk/src/feed/record.ts'
import { createVerify } from '../../packages/sdk/src/verify/verify.ts'
import { serveGenerator } from '../harness/generator.ts'
import { idOf, keyOf } from './feed-keys.ts'

/**
 * One cold start, in its own process: from the disk to the first verdict, or `JSON.parse` of the same keys, whose text
 * is in memory already. No timed code has run before.
 */
export type ColdStartPlan = {
  work: 'disk' | 'parse'
  cacheDir: string
  jsonFile: string
  scope: Scope
  keys: number
}
export type ColdStartCounts = { ms: number; answer: { keys: number; key: string } }

const clock = { wall: () => Date.now(), monotonic: () => performance.now() }

await serveGenerator<ColdStartPlan, ColdStartCounts>(async plan =>
  plan.work === 'disk' ? fromDisk(plan) : parse(plan),
)

async function fromDisk({ cacheDir, scope, keys }: ColdStartPlan): Promise<ColdStartCounts> {
  const number = keys >> 1
  const key = keyOf(number)
  const settings = { cacheDir, scope, maxCachedKeys: keys, maxAutoCachedKeys: 0, cachedTtlMs: 60_000 }
  const fail = ({ message }: { message: string }) => {
    throw new Error(message)
  }
  const from = performance.now()
  const resumed = await new DiskCache({ settings, clock, serviceTime: Date.now, notice: fail }).load()
  const served = { store: resumed?.store, hits: 0, misses: 0, evictions: 0 }
  const verdict = createVerify(served, { env: 'live', cachedTtlMs: 60_000, clock })(key)
  const ms = performance.now() - from
  if (!verdict.valid || verdict.keyId !== idOf(`key ${number}`)) throw new Error(`the key is ${verdict.code}`)
  return { ms, answer: { keys: resumed?.store.size ?? 0, key: verdict.keyId } }
}

function parse({ jsonFile, keys }: ColdStartPlan): ColdStartCounts {
  const text = readFileSync(jsonFile, 'latin1')
  const from = performance.now()
  const { keys: parsed }: PolicySnapshot = JSON.parse(text)
  const ms = performance.now() - from
  return { ms, answer: { keys: parsed.length, key: parsed[keys >> 1]?.key_id ?? '' } }
}

import assert from 'node:assert/strict'
import { createFeedClient } from '../src/feed/client.ts'
import { Sync } from '../src/feed/sync.ts'
import { type KeyringOptions, readOptions } from '../src/keyring/options.ts'
import type { KeyrailError } from '../src/runtime/errors.ts'
import { createVerify, type Served } from '../src/verify/verify.ts'
import { type FeedService, project, secretKey } from './feed-service.ts'
import { drawKey, policyKey } from './keys.ts'

const signal = new AbortController().signal

/** One node whose polls a test runs one by one. */
export function openNode(service: FeedService, options: Partial<KeyringOptions> = {}) {
  const settings = readOptions({
    url: service.url,
    secretKey,
    project,
    cachedTtlMs: 10_000,
    ...options,
  })
  const time = { monotonic: 0 }
  const clock = { wall: () => Date.now(), monotonic: () => time.monotonic }
  const served: Served = { store: undefined, hits: 0, misses: 0, evictions: 0 }
  const raised: number[] = []
  const odd: KeyrailError[] = []
  const sync = new Sync({
    client: createFeedClient(settings),
    clock,
    settings,
    served,
    onRaised: maxKeys => raised.push(maxKeys),
    onOdd: error => odd.push(error),
  })
  const verify = createVerify(served, { env: settings.env, cachedTtlMs: settings.cachedTtlMs, clock })
  return {
    time,
    served,
    sync,
    raised,
    odd,
    poll: async () => (await sync.poll(signal)).outcome,
    fails: async (code: string) => {
      const [before, version] = [served.store, sync.version]
      await assert.rejects(sync.poll(signal), (error: KeyrailError) => error.code === code)
      assert.deepEqual([served.store, sync.version], [before, version])
    },
    code: (key: string) => verify(key).code,
  }
}

/** Adds this many keys to the service, and returns the keys themselves. */
export const issueKeys = (service: FeedService, count: number, from = 1): string[] =>
  Array.from({ length: count }, (_, at) => {
    const key = drawKey()
    service.upsert(policyKey(key, from + at))
    return key
  })

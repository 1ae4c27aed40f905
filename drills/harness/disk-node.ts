import { join } from 'node:path'
import { DiskCache, type Resumed } from '../../packages/sdk/src/disk/cache.ts'
import { fileName } from '../../packages/sdk/src/disk/files.ts'
import type { Scope } from '../../packages/sdk/src/feed/record.ts'
import type { Kept } from '../../packages/sdk/src/feed/sync-deps.ts'
import { digestOf } from '../../packages/sdk/src/runtime/digest.ts'
import type { Notice } from '../../packages/sdk/src/runtime/reports.ts'
import { Store } from '../../packages/sdk/src/store/store.ts'
import { createVerify } from '../../packages/sdk/src/verify/verify.ts'
import { withChecksum } from '../../packages/sdk/test/keys.ts'

/** What the disk drill knows about a policy at some version: everything follows from the version. */

export const scope: Scope = {
  projectId: '01930c3e-8f5a-7c31-9b0e-00000000c000',
  env: 'live',
  tenantIds: [],
}
const ttlMs = 60_000
const keysMost = 40

const idOf = (number: number) => `01930c3e-8f5a-7c31-9b0e-${number.toString(16).padStart(12, '0')}`

/** Keys in the service's format, the same in every run. */
const keys = Array.from({ length: keysMost }, (_, number) =>
  withChecksum(`kr_live_${String(number).padStart(32, 'Drill')}`),
)

/** At each version some keys are present and the others revoked; the number of a key alone does not determine which. */
const isThere = (number: number, version: number) => (number * 7 + version * 13) % 5 !== 0

const tenantOf = (number: number) => idOf(0xa000 + (number % 3))

/** What a node holds at a version, just confirmed by its clock. */
export function holdAt(version: number, confirmedAt: number): Kept {
  const store = new Store(keysMost)
  for (const [number, key] of keys.entries()) {
    if (!isThere(number, version)) continue
    store.upsert({
      keyId: idOf(number),
      tenantId: tenantOf(number),
      env: 'live',
      digest: digestOf(key),
      scopes: number % 2 ? ['read'] : ['read', 'write'],
      rateLimits: undefined,
      expiresAt: Number.POSITIVE_INFINITY,
    })
  }
  store.confirm(confirmedAt)
  return { store, version, workspaceId: idOf(0xd000), isWhole: true }
}

export const pathOf = (cacheDir: string): string => join(cacheDir, fileName(scope))

/** The clocks of one machine; the drill moves all three. */
export interface Clocks {
  wall: number
  monotonic: number
  uptime: number
}

export function openCache(cacheDir: string, at: Clocks, reader: Scope = scope) {
  const notices: Notice['code'][] = []
  const cache = new DiskCache({
    settings: {
      scope: reader,
      maxCachedKeys: keysMost,
      maxAutoCachedKeys: 0,
      cachedTtlMs: ttlMs,
      cacheDir,
    },
    clock: { wall: () => at.wall, monotonic: () => at.monotonic },
    uptimeMs: () => at.uptime,
    serviceTime: monotonic => at.wall - at.monotonic + monotonic,
    notice: ({ code }) => notices.push(code),
  })
  return { cache, notices }
}

/** How an accepted store differs from the policy at its version, and which keys it wrongly accepts. */
export function faultsOf(resumed: Resumed, at: Clocks, isServing: boolean): string[] {
  const { store, version } = resumed
  const served = { store, hits: 0, misses: 0, evictions: 0, isPartial: !resumed.isWhole }
  const clock = { wall: () => at.wall, monotonic: () => at.monotonic }
  const verify = createVerify(served, { env: 'live', cachedTtlMs: ttlMs, clock })
  return keys.flatMap((key, number) => {
    const verdict = verify(key)
    const expected = !isServing
      ? 'stale'
      : isThere(number, version)
        ? 'valid'
        : resumed.isWhole
          ? 'unknown_key'
          : 'not_held'
    if (verdict.code !== expected) return [`key ${number} is ${verdict.code} instead of ${expected}`]
    const isRight =
      !verdict.valid ||
      (verdict.keyId === idOf(number) &&
        verdict.tenantId === tenantOf(number) &&
        verdict.scopes.length === (number % 2 ? 1 : 2))
    return isRight ? [] : [`key ${number} is described as ${JSON.stringify(verdict)}`]
  })
}

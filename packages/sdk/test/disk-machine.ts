import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { DiskCache } from '../src/disk/cache.ts'
import { digestOf } from '../src/runtime/digest.ts'
import type { Notice } from '../src/runtime/reports.ts'
import { Store } from '../src/store/store.ts'
import { id } from './keys.ts'

const root = mkdtempSync(join(tmpdir(), 'keyrail-disk-'))
after(() => rmSync(root, { recursive: true, force: true }))
const scope = { projectId: id(0xc000), env: 'live' as const, tenantIds: [] as string[] }
export const name = `policy-${id(0xc000)}-live`
let directories = 0

/** A node of one machine, with its own directory and three clocks that a test moves. */
export function machine() {
  const cacheDir = join(root, `cache-${directories++}`)
  const at = { wall: Date.parse('2027-01-01T00:00:00Z'), monotonic: 1_000, uptime: 500_000 }
  const pass = (ms: number) => {
    at.wall += ms
    at.monotonic += ms
    at.uptime += ms
  }
  const open = (more: { tenantIds?: string[]; maxCachedKeys?: number; cacheDir?: string } = {}) => {
    const notices: string[] = []
    const cache = new DiskCache({
      settings: {
        scope: { ...scope, tenantIds: more.tenantIds ?? [] },
        maxCachedKeys: more.maxCachedKeys ?? 100,
        maxAutoCachedKeys: 0,
        cachedTtlMs: 60_000,
        cacheDir: more.cacheDir ?? cacheDir,
      },
      clock: { wall: () => at.wall, monotonic: () => at.monotonic },
      uptimeMs: () => at.uptime,
      serviceTime: monotonic => at.wall - at.monotonic + monotonic,
      notice: ({ code }: Notice) => notices.push(code),
    })
    return { cache, notices }
  }
  /** A process that starts, saves its keys and ends. */
  const write = async (kept: ReturnType<typeof holding>) => {
    const { cache, notices } = open()
    await cache.load()
    await cache.close(kept)
    assert.deepEqual(notices, [])
  }
  return { at, pass, open, write, cacheDir, path: join(cacheDir, name) }
}

/** The keys of a node, confirmed at some time of its clock. */
export function holding(keys = 3, confirmedAt = 1_000) {
  const store = new Store(100)
  for (let number = 1; number <= keys; number++) addKey(store, number)
  store.confirm(confirmedAt)
  return { store, version: 7, workspaceId: id(0xd000), isWhole: true }
}

export const addKey = (store: Store, number: number) =>
  store.upsert({
    keyId: id(number),
    tenantId: id(0xa000),
    env: 'live',
    digest: digestOf(`key ${number}`),
    scopes: [],
    rateLimits: undefined,
    expiresAt: Number.POSITIVE_INFINITY,
  })

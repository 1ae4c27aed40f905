import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DiskCache } from '../packages/sdk/src/disk/cache.ts'
import type { Scope } from '../packages/sdk/src/feed/record.ts'
import { digestFromBase64 } from '../packages/sdk/src/runtime/digest.ts'
import { readRateLimits } from '../packages/sdk/src/store/rate-limits.ts'
import { Store } from '../packages/sdk/src/store/store.ts'
import type { Arm, Bench } from './harness/bench.ts'
import { runGenerator } from './harness/generator.ts'
import { SERVER_CORE } from './harness/pin.ts'
import { median } from './harness/statistics.ts'
import type { ColdStartCounts, ColdStartPlan } from './service/cold-start-process.ts'
import { feedKey, idOf, isImported } from './service/feed-keys.ts'

/** A process that starts from a disk snapshot, against the least that a JSON snapshot would cost it. */

const KEYS = 100_000
const scope: Scope = { projectId: idOf('project'), env: 'live', tenantIds: [] }

export const bench: Bench = {
  name: 'G18',
  title: 'From the disk snapshot of 100,000 keys to the first verdict against JSON.parse of the same keys',
  goal: { metric: 'ms', direction: 'at most', floor: 2, moonshot: 0.5 },
  async arms(run) {
    const folder = mkdtempSync(join(tmpdir(), 'keyrail-g18-'))
    await run.use({ close: () => rmSync(folder, { recursive: true, force: true }) })
    const cacheDir = join(folder, 'cache')
    const jsonFile = join(folder, 'keys.json')
    const write = await writeFiles(cacheDir, jsonFile)
    const script = new URL('service/cold-start-process.ts', import.meta.url).href
    const arm = (name: string, role: Arm['role'], work: ColdStartPlan['work']): Arm => ({
      name,
      role,
      async measure({ seconds }) {
        const samples: number[] = []
        const answers = new Set<string>()
        const deadline = performance.now() + seconds * 1_000
        do {
          // A file stays valid for a minute.
          await write()
          const plan = { work, cacheDir, jsonFile, scope, keys: KEYS }
          const { ms, answer } = await runGenerator<ColdStartPlan, ColdStartCounts>(script, plan, SERVER_CORE)
          samples.push(ms)
          answers.add(JSON.stringify(answer))
        } while (performance.now() < deadline)
        return { values: { ms: median(samples) }, answer: [...answers] }
      },
    })
    run.note(`${KEYS} keys, the median of processes that each start once; both files are in the page cache`)
    run.note(
      'the snapshot is read, its SHA-256 is checked, and it is indexed; of the JSON only parsing is timed',
    )
    return [arm('the disk snapshot', 'subject', 'disk'), arm('JSON.parse', 'control', 'parse')]
  },
}

/** @returns a function that writes the snapshot again, as of now */
async function writeFiles(cacheDir: string, jsonFile: string): Promise<() => Promise<void>> {
  const store = new Store(KEYS)
  store.setAcceptsImported(isImported)
  const keys = Array.from({ length: KEYS }, (_, number) => feedKey(number))
  for (const { key_id, tenant_id, env, lookup_hash, scopes, rate_limits, expires_at } of keys) {
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
  writeFileSync(jsonFile, JSON.stringify({ object: 'policy_snapshot', version: 1, keys }))
  return async () => {
    store.confirm(performance.now())
    const clock = { wall: () => Date.now(), monotonic: () => performance.now() }
    const settings = { cacheDir, scope, maxCachedKeys: KEYS, maxAutoCachedKeys: 0, cachedTtlMs: 60_000 }
    const notice = ({ message }: { message: string }) => {
      throw new Error(message)
    }
    const cache = new DiskCache({ settings, clock, serviceTime: Date.now, notice })
    await cache.load()
    await cache.close({ store, version: 1, workspaceId: idOf('workspace'), isWhole: true })
  }
}

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { readFeedBody, type Snapshot } from '../../src/feed/body.ts'
import { PAGE_FLOOR_MS, walk } from '../../src/feed/walk.ts'
import { WalkGuard } from '../../src/feed/walk-guard.ts'
import { openKeyring } from '../../src/keyring/keyring.ts'
import { type FeedService, type Instead, project, secretKey } from '../feed-service.ts'
import { drawKey, id, policyKey } from '../keys.ts'
import { until } from '../until.ts'
import { openWitness, serveOneKey, snapshotOf, type Witness } from './node.ts'

/** Walks without progress: the node ends them, reports them, and serves the keys that it held. */

let service: FeedService
let witness: Witness
let key = ''
beforeEach(async () => {
  ;({ service, key, witness } = await serveOneKey())
})
afterEach(async () => {
  await witness.keyring.close()
  await service.close()
})

const page = (numbers: number[], next_cursor: string | null): Instead =>
  snapshotOf(service, { keys: numbers.map(number => policyKey(drawKey(), number)), next_cursor })

/** Answers every request from now on with a page of a walk. Returns the length of the longest walk. */
function walksBy(pages: (at: number) => Instead): { longest: number } {
  const asked = { longest: 0 }
  let at = 0
  service.misbehave = ({ url }) => {
    if (url.pathname.endsWith('/delta')) at = 0
    asked.longest = Math.max(asked.longest, at + 1)
    return pages(at++)
  }
  return asked
}

const modes: [mode: string, pages: (at: number) => Instead, says: RegExp, asks: number][] = [
  ['a page that repeats', at => page([2, 3], `c${at}`), /ids do not rise/, 2],
  ['a cursor that comes twice, on pages with new keys', at => page([2 + at], 'same'), /came before/, 2],
  ['a cursor that comes twice, on pages without a key', () => page([], 'same'), /came before/, 2],
  ['a cursor beyond 512 characters', at => page([2 + at], 'c'.repeat(513) + at), /feed: next_cursor/, 1],
  ['two cursors by turns', at => page([], `c${at % 2}`), /came before/, 3],
  ['key ids that fall from page to page', at => page([90 - at], `c${at}`), /ids do not rise/, 2],
  ['key ids that fall within a page', () => page([3, 2], null), /ids do not rise/, 1],
  ['a key that comes twice within a page', () => page([2, 2], null), /ids do not rise/, 1],
  ['pages without a key, without end', at => page([], `c${at}`), /empty page after page/, 65],
]

for (const [mode, pages, says, asks] of modes)
  test(`${mode}: the walk ends at answer ${asks}, is reported, and held keys are served`, async () => {
    const asked = walksBy(pages)
    await until(() => witness.errors.length > 1, 'the walk has ended')
    assert.equal(witness.errors[0]?.code, 'bad_response')
    assert.match(witness.errors[0]?.message ?? '', says)
    assert.equal(asked.longest, asks)
    assert.equal(witness.keyring.verify(key).code, 'valid')
    service.misbehave = undefined
    const fresh = drawKey()
    service.upsert(policyKey(fresh, 2))
    await until(() => witness.keyring.verify(fresh).valid, 'the node recovers with the service')
  })

test('a walk that outlasts half the time that keys are served is reported once, and goes on', async () => {
  // Its polls would begin the pages anew.
  await witness.keyring.close()
  const slow = openWitness(service, { cachedTtlMs: 1_000 })
  try {
    await slow.keyring.ready()
    const asked = walksBy(at => page([2 + at], `c${at}`))
    await until(() => slow.errors.length > 0, 'it is reported')
    const then = asked.longest
    await until(() => asked.longest > then + 1, 'it goes on')
    assert.deepEqual(
      slow.errors.map(({ code }) => code),
      ['slow_snapshot'],
    )
  } finally {
    await slow.keyring.close()
  }
})

test('pages with new keys are paced', async () => {
  const pauses: number[] = []
  const last = 20
  const readPage = (number: number) =>
    readFeedBody(page([1 + number], number === last ? null : String(number + 1)).body, {
      projectId: project,
      env: 'live',
      tenantIds: [],
    }) as Snapshot
  await walk(readPage(0), {
    next: async cursor => readPage(Number(cursor)),
    clock: { monotonic: () => 0, pause: async milliseconds => void pauses.push(milliseconds) },
    quota: { maxCachedKeys: 100, maxAutoCachedKeys: 100 },
    hasLabels: false,
    held: undefined,
    hasServed: false,
    isEnded: () => false,
    signal: new AbortController().signal,
  })
  assert.deepEqual(pauses, Array(last).fill(PAGE_FLOOR_MS))
})

test('endless pages with new keys are limited', () => {
  const walked = (number: number, nextCursor: string) => ({
    kind: 'snapshot' as const,
    workspaceId: 'w',
    version: 1,
    deleted: false,
    generatedAt: 0,
    unreadable: [],
    features: [],
    isUnlabelled: false,
    takesRefusals: false,
    tenants: [],
    listed: undefined,
    acceptsImported: undefined,
    isImportedOdd: false,
    keys: [{ ...stored, keyId: id(number) }],
    nextCursor,
  })
  const stored = {
    tenantId: 't',
    env: 'live' as const,
    digest: '',
    scopes: [],
    rateLimits: undefined,
    expiresAt: 0,
  }
  const guard = new WalkGuard(walked(1, 'c1'), 38_000)
  let pages = 0
  assert.throws(() => {
    for (;;) guard.check(walked(++pages, `c${pages}`))
  }, /after 2380 pages/)
})

test('snapshots with the same version in place of deltas slow the polls down', async () => {
  const pauses: number[] = []
  service.misbehave = () => snapshotOf(service, { keys: [policyKey(key, 1)] })
  const keyring = openKeyring(
    { url: service.url, secretKey, project, pollIntervalMs: 100 },
    {
      clock: {
        wall: () => Date.now(),
        monotonic: () => 0,
        pause: async milliseconds => void pauses.push(milliseconds),
      },
      random: () => 0,
    },
  )
  await until(() => pauses.length > 6, 'seven polls are answered')
  assert.equal(keyring.verify(key).code, 'valid')
  await keyring.close()
  // 0.9 of an interval, doubled from the third snapshot in place of a delta on.
  assert.deepEqual(pauses.slice(0, 7), [100, 100, 180, 360, 720, 1_440, 2_880])
})

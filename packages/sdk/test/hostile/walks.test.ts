import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { WalkGuard } from '../../src/feed/walk-guard.ts'
import type { FeedService, Instead } from '../feed-service.ts'
import { drawKey, id, policyKey } from '../keys.ts'
import { until } from '../until.ts'
import { serveOneKey, snapshotOf, type Witness } from './node.ts'

/** Walks that lead nowhere: the node gives them up, says so, asks no more than it must and serves what it held. */

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

/** Makes every answer from now on that of a walk. Says of how many the longest was. */
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
  ['two cursors by turns', at => page([], `c${at % 2}`), /came before/, 3],
  ['key ids that fall from page to page', at => page([90 - at], `c${at}`), /ids do not rise/, 2],
  ['key ids that fall within a page', () => page([3, 2], null), /ids do not rise/, 1],
  ['a key that comes twice within a page', () => page([2, 2], null), /ids do not rise/, 1],
  ['pages without a key, without end', at => page([], `c${at}`), /page after page without/, 65],
]

for (const [mode, pages, says, asks] of modes)
  test(`${mode}: the walk is given up at answer ${asks}, is reported, and what was held is served`, async () => {
    const asked = walksBy(pages)
    await until(() => witness.errors.length > 1, 'the walk is given up')
    assert.equal(witness.errors[0]?.code, 'bad_response')
    assert.match(witness.errors[0]?.message ?? '', says)
    assert.equal(asked.longest, asks)
    assert.equal(witness.keyring.verify(key).code, 'valid')
    service.misbehave = undefined
    const fresh = drawKey()
    service.upsert(policyKey(fresh, 2))
    await until(() => witness.keyring.verify(fresh).valid, 'it goes on where the service is well again')
  })

test('pages that never end, each with new keys: they are paced', async () => {
  walksBy(at => page([2 + at], `c${at}`))
  const before = witness.sentAt.length
  const pages = 20
  await until(() => witness.sentAt.length > before + pages, 'the walk is under way')
  const [from = 0, to = 0] = [witness.sentAt[before], witness.sentAt[before + pages]]
  // A timer may fire up to a millisecond before its time.
  assert.ok(to - from >= (pages - 1) * 19, `${pages} pages within ${to - from} ms`)
  assert.equal(witness.keyring.verify(key).code, 'valid')
})

test('pages that never end, each with new keys: they are counted', () => {
  const walked = (number: number, nextCursor: string) => ({
    kind: 'snapshot' as const,
    workspaceId: 'w',
    version: 1,
    deleted: false,
    generatedAt: 0,
    unreadable: [],
    features: [],
    tenants: [],
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

test('a snapshot in the place of every delta, its version as it was: the node asks less and less often', async () => {
  const before = witness.sentAt.length
  service.misbehave = () => snapshotOf(service, { keys: [policyKey(key, 1)] })
  await until(() => witness.sentAt.length > before + 5, 'it was answered five times')
  const times = witness.sentAt.slice(before, before + 6)
  const gaps = times.slice(1).map((at, before) => at - (times[before] ?? 0))
  for (const [at, least] of [90, 180, 360, 720].entries())
    assert.ok((gaps[at + 1] ?? 0) >= least * 0.95, `${gaps}`)
  assert.equal(witness.keyring.verify(key).code, 'valid')
  assert.ok(witness.keyring.stats().polls.snapshot >= 5)
})

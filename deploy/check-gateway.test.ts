import assert from 'node:assert/strict'
import { test } from 'node:test'
import { project, secretKey, workspaceId } from '../packages/sdk/test/feed-service.ts'
import { checkGateway } from './check-gateway.ts'

const EPOCH = Date.parse('2027-01-01T00:00:00Z')

interface Between {
  /** How long something between waits for an answer. */
  givesUpMs?: number
  /** Held answers come after this. */
  heldMs?: number
  holds?: boolean
  isCached?: boolean
  machineAheadMs?: number
  dateAheadMs?: number
  changesAtMs?: number
  status?: number
}

/** What the check says about a service behind something, on a clock that the test advances. */
async function check(between: Between) {
  const passed = { ms: 0 }
  const kept = new Map<string, string>()
  const queries: URLSearchParams[] = []
  const clock = {
    wall: () => EPOCH + passed.ms + (between.machineAheadMs ?? 0),
    monotonic: () => passed.ms,
    pause: async (milliseconds: number) => {
      passed.ms += milliseconds
    },
  }
  const fetch: typeof globalThis.fetch = async (input, init?: RequestInit) => {
    const { pathname, searchParams } = new URL(String(input))
    queries.push(searchParams)
    const { holds = true, givesUpMs = Number.POSITIVE_INFINITY, status = 200, changesAtMs } = between
    if (status !== 200) return Response.json({ code: 'unauthenticated', detail: 'No.' }, { status })
    const wait = Number(/wait=(\d+)/.exec(String(new Headers(init?.headers).get('prefer')))?.[1] ?? 0) * 1_000
    const heldMs = wait > 0 && holds ? Math.min(between.heldMs ?? wait, changesAtMs ?? wait) : 0
    passed.ms += Math.min(20 + heldMs, givesUpMs)
    if (heldMs > givesUpMs) return new Response('<h1>504</h1>', { status: 504 })
    const isDelta = pathname.endsWith('/delta')
    const body = {
      object: isDelta ? 'policy_delta' : 'policy_snapshot',
      workspace_id: workspaceId,
      version: passed.ms > (changesAtMs ?? Number.POSITIVE_INFINITY) ? 8 : 7,
      generated_at: new Date(EPOCH + passed.ms).toISOString(),
    }
    const text = (between.isCached && kept.get(pathname)) || JSON.stringify(body)
    kept.set(pathname, text)
    const date = new Date(EPOCH + passed.ms + (between.dateAheadMs ?? 0)).toUTCString()
    return new Response(text, { headers: { date, ...(heldMs > 0 && { 'preference-applied': 'wait' }) } })
  }
  const report = await checkGateway({ url: 'http://127.0.0.1', secretKey, project, fetch }, clock)
  return { ...report, queries }
}

test('nothing is found between a node and a service that is well', async () => {
  const { ok, findings, heldMs, clockAheadMs, dateAheadMs, queries } = await check({})
  assert.deepEqual([ok, findings, heldMs], [true, [], 25_020])
  assert.deepEqual([clockAheadMs, Math.abs(dateAheadMs ?? Number.NaN) < 1_000], [0, true])
  // It is no node: a revocation must not wait for it.
  assert.ok(queries.every(query => !query.has('node')))
})

const cases: [name: string, between: Between, ok: boolean, says: RegExp][] = [
  ['a gateway that gives up', { givesUpMs: 10_000 }, false, /25 s failed after 10 s \(status 504\).* 75 s/],
  ['a service that does not hold', { holds: false }, false, /did not hold an answer/],
  ['an answer that comes early', { heldMs: 3_000 }, false, /came after 3 s in place of 25 s/],
  ['a cache', { isCached: true }, false, /same time, as from a cache/],
  ['a machine’s clock ahead', { machineAheadMs: 45_000 }, true, /machine's clock is 45 s ahead of/],
  ['a machine’s clock behind', { machineAheadMs: -45_000 }, true, /machine's clock is 45 s behind/],
  ['a proxy’s clock', { dateAheadMs: -3_600_000 }, true, /^Date, .* is 3600\.\d s behind/],
]
for (const [name, between, isOk, says] of cases)
  test(`${name} is found, in one sentence`, async () => {
    const { ok, findings } = await check(between)
    assert.equal(findings.length, 1, String(findings))
    assert.match(findings[0] ?? '', says)
    assert.equal(ok, isOk)
  })

test('a change that ends the hold is no finding', async () => {
  const { ok, findings, heldMs } = await check({ changesAtMs: 4_000 })
  assert.deepEqual([ok, findings, heldMs], [true, [], 4_020])
})

test('a refused secret key is an error', async () => {
  await assert.rejects(check({ status: 401 }), /status 401/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { project, secretKey, workspaceId } from '../../test/feed-service.ts'
import { drawKey, policyKey } from '../../test/keys.ts'
import { openWorkerKeyring } from './worker-keyring.ts'

type Answer = () => object | Promise<object>

/** A worker whose answers a test scripts, in the order of its calls. */
function start(answers: Answer[]) {
  const time = { now: 0 }
  let calls = 0
  const startedAt = Date.now()
  const errors: unknown[] = []
  const behind: Promise<unknown>[] = []
  const fetch = async () => {
    calls += 1
    const body = await answers.shift()?.()
    return Response.json({ ...body, generated_at: new Date(startedAt + time.now).toISOString() })
  }
  const keyring = openWorkerKeyring(
    {
      url: 'https://keys.example.com',
      secretKey,
      project,
      fetch: fetch as typeof globalThis.fetch,
      onError: error => errors.push(error),
    },
    { clock: { wall: () => startedAt + time.now, monotonic: () => time.now }, random: () => 0.5 },
  )
  /** Ends when the worker has made this many calls in all. */
  const untilCalls = async (count: number) => {
    for (const all = answers.length + calls; calls < Math.min(count, all); ) await turn()
  }
  const request = () => keyring.refresh({ waitUntil: work => void behind.push(work) })
  return { time, errors, behind, request, untilCalls, code: (key: string) => keyring.verify(key).code }
}

const snapshot = (version: number, keys: object[], next_cursor: string | null = null) => ({
  object: 'policy_snapshot',
  workspace_id: workspaceId,
  project_id: project,
  env: 'live',
  version,
  project_deleted: false,
  next_cursor,
  keys,
})

const [revoked, kept] = [drawKey(), drawKey()]
const [revokedKey, keptKey] = [policyKey(revoked, 1), policyKey(kept, 2)]

test('a lost poll that ends late brings no revoked key back', async () => {
  const second = Promise.withResolvers<object>()
  const { time, behind, request, untilCalls, code, errors } = start([
    () => snapshot(1, [revokedKey, keptKey]),
    () => snapshot(2, [revokedKey], 'next'),
    () => second.promise,
    () => snapshot(3, [keptKey]),
  ])
  await request()
  time.now = 5_000
  void request()
  await untilCalls(3)
  time.now = 36_000
  await request()
  assert.deepEqual([code(revoked), code(kept)], ['unknown_key', 'valid'])
  time.now = 37_000
  second.resolve(snapshot(2, [keptKey]))
  await Promise.all(behind)
  assert.deepEqual([code(revoked), code(kept), errors], ['unknown_key', 'valid', []])
})

test('a lost poll that fails late delays no later one', async () => {
  const lost = Promise.withResolvers<object>()
  const { time, behind, request, untilCalls, errors } = start([
    () => snapshot(1, [keptKey]),
    () => lost.promise,
    () => snapshot(2, [keptKey]),
  ])
  await request()
  time.now = 5_000
  void request()
  await untilCalls(2)
  time.now = 36_000
  await request()
  lost.reject(new Error('the connection ended'))
  await Promise.all(behind)
  assert.deepEqual(errors, [])
})

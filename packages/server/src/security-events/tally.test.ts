import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { NewEvent } from './event.ts'
import { createTally, heldMax, rowsOfNobody, rowsPerWorkspace } from './tally.ts'

function startTally() {
  const counts = { dropped: 0 }
  const clock = { now: () => 1_800_000_000_000, monotonic: () => 0 }
  const tally = createTally(clock, randomUUID, () => {
    counts.dropped += 1
  })
  const rowsOf = (workspaceId: string) =>
    tally.unwritten().filter(({ row }) => row.workspace_id === workspaceId).length
  return { counts, tally, rowsOf }
}
const refusal = (workspaceId: string, details: object): NewEvent => ({
  kind: 'permission_refused',
  workspaceId,
  userId: null,
  actor: null,
  client: null,
  details: { ...details },
})

test('workspaces that fill all their rows cost no other workspace its events', () => {
  const { counts, tally, rowsOf } = startTally()
  for (let flooder = 0; flooder < 500; flooder++) {
    const id = randomUUID()
    for (let i = 0; i < rowsPerWorkspace; i++) tally.note(refusal(id, { code: `code ${i}` }))
  }
  const quiet = randomUUID()
  tally.note(refusal(quiet, { code: 'forbidden' }))
  assert.deepEqual([rowsOf(quiet), counts.dropped], [1, 0])
  assert.ok(tally.unwritten().length < heldMax)
})

test('failed sign-ins at unknown addresses hide none at an account, and no other event', () => {
  const { tally } = startTally()
  const failed = (userId: string | null, ip: string): NewEvent => ({
    kind: 'sign_in_failed',
    workspaceId: null,
    userId,
    actor: null,
    client: { ip, userAgent: null },
  })
  for (let i = 0; i < 2 * rowsOfNobody; i++) tally.note(failed(null, `192.0.${i >> 8}.${i & 255}`))
  const userId = randomUUID()
  tally.note(failed(userId, '198.51.100.1'))
  tally.note({ ...failed(null, '198.51.100.1'), kind: 'reset_requested' })
  const rows = tally.unwritten().map(({ row }) => row)
  assert.equal(rows.find(row => row.user_id === userId)?.count, 1)
  assert.equal(rows.find(row => row.kind === 'reset_requested')?.count, 1)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { outlives, overlapEnd } from './overlap.ts'

const time = fc.integer({ min: 0, max: 4_102_444_800_000 })
const maybeTime = fc.option(time)

test('an overlap never extends a key and lasts at most the requested time', () => {
  const hours = fc.double({ min: 0, max: 168, noNaN: true })
  fc.assert(
    fc.property(maybeTime, time, hours, (expiresAt, now, overlap) => {
      const end = overlapEnd(expiresAt, now, overlap)
      assert.ok(expiresAt === null || end <= expiresAt)
      assert.ok(end <= now + 168 * 3_600_000)
      assert.ok(expiresAt !== null && expiresAt < now ? end === expiresAt : end >= now)
    }),
  )
})

test('after any number of rotations, a key expires with the shortest overlap at the latest', () => {
  fc.assert(
    fc.property(
      time,
      fc.array(fc.tuple(time, fc.integer({ min: 0, max: 168 })), { minLength: 1 }),
      maybeTime,
      (start, turns, wish) => {
        let expiresAt: number | null = null
        for (const [later, overlap] of turns) expiresAt = overlapEnd(expiresAt, start + later, overlap)
        assert.equal(outlives(wish, expiresAt), wish === null || wish > (expiresAt ?? 0))
      },
    ),
  )
})

test('a key that was never rotated can get any expiry', () => {
  fc.assert(fc.property(maybeTime, wish => !outlives(wish, null)))
})

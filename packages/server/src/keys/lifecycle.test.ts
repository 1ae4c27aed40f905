import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isActive, outlivesOverlap, overlapEnd } from './lifecycle.ts'

const time = fc.integer({ min: 0, max: 4_102_444_800_000 })
const maybeTime = fc.option(time)

test('a key is active before its expiry, and neither at it nor after it', () => {
  const life = { expiresAt: 1000, revokedAt: null }
  assert.deepEqual(
    [999, 1000, 1001].map(now => isActive(life, now)),
    [true, false, false],
  )
})

test('a revoked key is never active', () => {
  fc.assert(
    fc.property(
      maybeTime,
      time,
      time,
      (expiresAt, revokedAt, now) => !isActive({ expiresAt, revokedAt }, now),
    ),
  )
})

test('an overlap shortens a life and never extends one, and lasts at most what was asked', () => {
  const hours = fc.double({ min: 0, max: 168, noNaN: true })
  fc.assert(
    fc.property(maybeTime, time, hours, (expiresAt, now, overlap) => {
      const end = overlapEnd({ expiresAt, revokedAt: null }, now, overlap)
      assert.ok(expiresAt === null || end <= expiresAt)
      assert.ok(end <= now + 168 * 3_600_000)
      assert.ok(expiresAt !== null && expiresAt < now ? end === expiresAt : end >= now)
    }),
  )
})

test('after rotations in any number, no later expiry is taken than the shortest overlap', () => {
  fc.assert(
    fc.property(
      time,
      fc.array(fc.tuple(time, fc.integer({ min: 0, max: 168 })), { minLength: 1 }),
      maybeTime,
      (start, turns, wish) => {
        let life: { expiresAt: number | null; revokedAt: null } = { expiresAt: null, revokedAt: null }
        for (const [later, overlap] of turns) {
          life = { expiresAt: overlapEnd(life, start + later, overlap), revokedAt: null }
        }
        assert.equal(outlivesOverlap(wish, life.expiresAt), wish === null || wish > (life.expiresAt ?? 0))
      },
    ),
  )
})

test('a key that was never rotated may be renewed without bound', () => {
  fc.assert(fc.property(maybeTime, wish => !outlivesOverlap(wish, null)))
})

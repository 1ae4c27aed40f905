/** Rules of a rotation, for keys and secret keys. Times are milliseconds since 1970, from the database clock. */
const hourMs = 3_600_000

/**
 * When the old key of a rotation stops working: after the overlap, or at its own expiry if that is earlier.
 * @param overlapHours 0 to 168, fractions allowed.
 */
export function overlapEnd(expiresAt: number | null, now: number, overlapHours: number): number {
  const end = now + Math.round(overlapHours * hourMs)
  return expiresAt === null ? end : Math.min(expiresAt, end)
}

/** Whether a new expiry would keep a rotated key alive beyond its overlap. */
export const outlivesOverlap = (expiresAt: number | null, overlapEndsAt: number | null): boolean =>
  overlapEndsAt !== null && (expiresAt === null || expiresAt > overlapEndsAt)

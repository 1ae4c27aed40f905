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

/** Whether an expiry keeps a key alive beyond an end: that of a rotation overlap, or the expiry before. Null never comes. */
export const outlives = (expiresAt: number | null, end: number | null): boolean =>
  end !== null && (expiresAt === null || expiresAt > end)

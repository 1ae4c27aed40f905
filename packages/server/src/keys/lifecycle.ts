/**
 * The rules of a credential's life, for keys and secret keys alike: values in, values out. Times are
 * milliseconds since 1970, told by the store's clock.
 */
export interface Life {
  expiresAt: number | null
  revokedAt: number | null
}

const hourMs = 3_600_000

/** Neither revoked nor expired. The moment of expiry itself is expired. */
export const isActive = (life: Life, now: number): boolean =>
  life.revokedAt === null && (life.expiresAt === null || life.expiresAt > now)

/**
 * When the predecessor of a rotation stops to work: after the overlap, or earlier if it was to expire
 * earlier. An overlap shortens a life and never extends one.
 * @param overlapHours 0 to 168, fractions allowed.
 */
export function overlapEnd(life: Life, now: number, overlapHours: number): number {
  const end = now + Math.round(overlapHours * hourMs)
  return life.expiresAt === null ? end : Math.min(life.expiresAt, end)
}

/** Whether a new expiry would let a rotated key outlive its overlap. */
export const outlivesOverlap = (expiresAt: number | null, overlapEndsAt: number | null): boolean =>
  overlapEndsAt !== null && (expiresAt === null || expiresAt > overlapEndsAt)

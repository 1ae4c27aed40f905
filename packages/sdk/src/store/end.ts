/**
 * When a key ends, as one number in its record: milliseconds since the epoch, or Infinity. Half a millisecond less than a time
 * says that the key does not expire then, but is too old for its project. Times of the service are whole milliseconds.
 */
const NEVER = Number.POSITIVE_INFINITY

/** The earlier of two times. */
export const endOf = (expiresAt: number, tooOldAt = NEVER): number =>
  tooOldAt < expiresAt ? tooOldAt - 0.5 : expiresAt

/** Whether a key is too old at its end. */
export const isByAge = (end: number): boolean => end % 1 !== 0

/** The end as verdicts have it; null: there is none. */
export const shownEnd = (end: number): number | null => (end === NEVER ? null : Math.ceil(end))

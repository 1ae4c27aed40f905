/** RFC 3339, UTC, milliseconds: how every time is answered. */
export const iso = (time: Date): string => time.toISOString()
export const isoOrNull = (time: Date | null): string | null => (time === null ? null : iso(time))

/** A `date-time` that the contract has let through; what is finer than a millisecond is cut. */
export const dateOrNull = (text: string | null | undefined): Date | null =>
  text === null || text === undefined ? null : new Date(text)

export const millisOrNull = (time: Date | null): number | null => (time === null ? null : time.getTime())

/** RFC 3339, UTC, milliseconds: the form of every time in a response. */
export const iso = (time: Date): string => time.toISOString()
export const isoOrNull = (time: Date | null): string | null => (time === null ? null : iso(time))

/** A valid `date-time` of the contract; fractions of a millisecond are cut. */
export const dateOrNull = (text: string | null | undefined): Date | null =>
  text === null || text === undefined ? null : new Date(text)

export const millisOrNull = (time: Date | null): number | null => (time === null ? null : time.getTime())

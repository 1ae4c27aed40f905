/** Values of the feed's JSON. */

export type Json = Record<string, unknown>

/** A complete RFC 3339 timestamp: one without a zone would be read in the zone of this machine. */
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** Milliseconds since the epoch; NaN if it is not a timestamp. */
export const readTime = (text: unknown): number =>
  typeof text === 'string' && timestamp.test(text) ? Date.parse(text) : Number.NaN

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= 200

export const isVersion = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0

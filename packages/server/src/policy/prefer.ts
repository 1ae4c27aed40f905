/** Seconds; a longer value is cut to this. */
const mostWait = 30

/** The `wait` of a `Prefer` header, in whole seconds (RFC 7240 §4.3); null when it is missing or invalid. */
export function preferredWait(prefer: string | undefined): number | null {
  for (const preference of (prefer ?? '').split(',')) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/i.exec(preference) ?? []
    // The first of several values counts. §2.
    if (seconds !== undefined) return Math.min(Number(seconds), mostWait)
  }
  return null
}

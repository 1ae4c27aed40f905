const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Timers of Node end at 24 days. */
const spanMsMax = 14 * unitMs.d

/** How soon a failed backup is tried again. */
const retryMs = 5 * unitMs.m

/** Reads `90s`, `30m`, `6h` or `1d`; null for anything else, and for more than 14 days. */
export function parseSpan(text: string): number | null {
  const [, digits, unit] = /^([1-9]\d{0,6})([smhd])$/.exec(text) ?? []
  if (digits === undefined) return null
  const ms = Number(digits) * unitMs[unit as keyof typeof unitMs]
  return ms <= spanMsMax ? ms : null
}

/** For a person: the largest unit of which there is at least one, rounded. */
export function spanText(ms: number): string {
  const [unit] = (['d', 'h', 'm'] as const).filter(unit => ms >= unitMs[unit])
  return `${Math.round(ms / unitMs[unit ?? 's'])} ${unit ?? 's'}`
}

/**
 * The pause before the first backup, so that a process that restarts again and again makes no more than one in that time. A
 * backup of a later time than now says nothing: a clock was or is wrong.
 */
export function firstPauseMs(newestAt: number | null, nowMs: number, everyMs: number): number {
  const age = newestAt === null ? -1 : nowMs - newestAt
  return age < 0 || age >= everyMs ? 0 : everyMs - age
}

interface Last {
  everyMs: number
  tookMs: number
  hasFailed: boolean
}

/** The pause after a backup: until the next of the times that began with the last one; after a failure shorter. */
export function pauseMs({ everyMs, tookMs, hasFailed }: Last): number {
  const untilNext = everyMs - (tookMs % everyMs)
  return hasFailed ? Math.min(untilNext, retryMs) : untilNext
}

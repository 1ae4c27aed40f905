/** The service keeps and returns so many months. */
const monthsMax = 24

/** Months of UTC, this one first, each by its first day. */
export function monthsBefore(now: Date): string[] {
  return Array.from({ length: monthsMax }, (_, ago) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago)).toISOString().slice(0, 10),
  )
}

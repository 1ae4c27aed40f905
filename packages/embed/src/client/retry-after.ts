/** Seconds; null if there are none. A page's own error may have headers of any form, or none. */
export function retryAfterOf(headers?: { get?(name: string): unknown }): number | null {
  const seconds = Number(headers?.get?.('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds : null
}

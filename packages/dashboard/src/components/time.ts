/** Times in words. The page is in English; exact times follow the habits of the browser. */

const steps = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })

export const exactTime = (at: string): string => exact.format(new Date(at))

/** A sentence of the service, with its times as people read them. */
export const timesInWords = (text: string): string =>
  text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, exactTime)

export function relativeTime(at: string, now: number): string {
  const seconds = (new Date(at).getTime() - now) / 1_000
  const step = steps.find(([, length]) => Math.abs(seconds) >= length)
  if (step === undefined) return 'just now'
  const [unit, length] = step
  // What just began to last seven days ends in seven days, not in six; what is over counts whole units.
  const count = seconds > 0 ? Math.round(seconds / length) : Math.trunc(seconds / length)
  return relative.format(count, unit)
}

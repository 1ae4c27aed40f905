/** Days in an address, as `2027-01-31`, in the time zone of the browser; both are included. */
export interface Days {
  from?: string | undefined
  to?: string | undefined
}

const isDay = (text: unknown): text is string =>
  typeof text === 'string' && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

/** The days among the search parameters of a route. */
export const daysIn = ({ from, to }: Record<string, unknown>): Days => ({
  ...(isDay(from) && { from }),
  ...(isDay(to) && { to }),
})

/** The times between which these days are, as lists of the API take them. */
export function timesOf({ from, to }: Days) {
  const after = from === undefined ? undefined : new Date(`${from}T00:00`)
  const before = to === undefined ? undefined : new Date(`${to}T00:00`)
  before?.setDate(before.getDate() + 1)
  return { created_after: after?.toISOString(), created_before: before?.toISOString() }
}

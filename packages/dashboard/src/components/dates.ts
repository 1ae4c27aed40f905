/** Days and months of the service, which are those of UTC. */

const day = new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', day: 'numeric', month: 'short' })
const month = new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', month: 'long', year: 'numeric' })

/** @param date such as `2027-01-31` */
export const dayName = (date: string): string => day.format(new Date(date))
/** @param date a day of the month */
export const monthName = (date: string): string => month.format(new Date(date))

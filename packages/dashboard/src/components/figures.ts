const figures = new Intl.NumberFormat()

/** A number as the habits of the browser write it. */
export const figure = (value: number): string => figures.format(value)

const shortFigures = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })
const shortFrom = 1e7

/** A number for a narrow place: "9,412,000", then "12.4M". */
export const shortFigure = (value: number): string =>
  value < shortFrom ? figure(value) : shortFigures.format(value)

/** A number of requests, of which a part may be an estimate. */
export const maybeEstimated = (value: number, isEstimated: boolean, say = figure): string =>
  `${isEstimated ? '≈ ' : ''}${say(value)}`

/** A number and its noun: "1 row", "18,204 rows". */
export const counted = (value: number, noun: string): string =>
  `${figure(value)} ${noun}${value === 1 ? '' : 's'}`

/** A sentence about a number of things: "1 row is …", "2 rows are …". */
export const countedAre = (value: number, noun: string): string =>
  `${counted(value, noun)} ${value === 1 ? 'is' : 'are'}`

interface Held {
  readonly held_keys: number | null
  readonly held_keys_max: number | null
}

/** How many keys a node holds: "30,412 of 38,000". */
export const heldInWords = ({ held_keys, held_keys_max }: Held): string =>
  held_keys === null || held_keys_max === null
    ? 'Not reported'
    : `${shortFigure(held_keys)} of ${shortFigure(held_keys_max)}`

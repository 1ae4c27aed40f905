/** How the rows of a list are sorted; null: in the order of the service, newest first. */
export type Sorting = { readonly header: string; readonly isFalling: boolean } | null

/** Null stands last in either direction: it is no value. */
export type SortValue = string | number | null

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

/** Equal rows stay in the order of the service. */
export function sortRows<Item>(
  rows: readonly Item[],
  sortBy: (item: Item) => SortValue,
  isFalling: boolean,
): Item[] {
  const sign = isFalling ? -1 : 1
  const values = new Map(rows.map(row => [row, sortBy(row)]))
  return rows.toSorted((one, other) => {
    const [a = null, b = null] = [values.get(one), values.get(other)]
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(`${a}`, `${b}`))
  })
}

/** What the next press on a header does: rising, falling, then the order of the service again. */
export function nextSorting(now: Sorting, header: string): Sorting {
  if (now?.header !== header) return { header, isFalling: false }
  return now.isFalling ? null : { header, isFalling: true }
}

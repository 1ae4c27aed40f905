/**
 * The most bytes of a page, as JSON and as the store sends its rows. A page ends there with its cursor, whatever its `limit`
 * says: 200 rows with a `meta` of 64 KiB each would be 12 MiB.
 */
export const pageLimits = { bytesMax: 4 * 1_048_576 }

/** The rows of a list, as far as they were read. `page` makes a page of the rows. */
export interface Listed<Row> {
  readonly rows: readonly Row[]
  /** The size of the rows, as the store sent them. */
  readonly bytes: number
  /** Whether there are more rows, which were left out because of their size. */
  readonly isCut: boolean
}

/** Changes the rows, but must leave none out: from their number `page` learns whether there are more. */
export const mapListed = <Row, To>({ rows, ...rest }: Listed<Row>, to: (row: Row) => To): Listed<To> => ({
  ...rest,
  rows: rows.map(to),
})

/** For a list that has at most one row, which was read with its statement's `query`. */
export const listedOne = <Row>(rows: readonly Row[]): Listed<Row> => ({
  rows: rows.slice(0, 1),
  // The size is unknown, so `page` measures it.
  bytes: pageLimits.bytesMax,
  isCut: false,
})

/**
 * The version and the floor of a policy head, as SQL. A failover raises all heads by one row of `store_levels`, and a head
 * catches up when it is next written. Until then the head's own columns are too low, so nothing reads them directly. Postgres
 * reads the level once for a statement.
 * @param head the table's alias in the statement.
 */
export const versionSql = (head: string) =>
  `case when ${isBehind(head)} then ${caughtUp(head)} else ${head}.version end`
export const floorSql = (head: string) =>
  `case when ${isBehind(head)} then ${caughtUp(head)} else ${head}.floor end`

const isBehind = (head: string) => `${head}.raised_by < (select store_raised_by())`
const caughtUp = (head: string) =>
  `greatest(${head}.version + (select store_raised_by()) - ${head}.raised_by, (select store_lowest()))`

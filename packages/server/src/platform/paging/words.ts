/** How a statement finds rows by a later word of their name. Each member is SQL. */
interface WordSearch {
  /** The value of `list` in `name_words`. */
  readonly list: string
  /** The table that has `workspace_id`, `id`, `name` and `name_folded`, as the statement calls it. */
  readonly of: string
  /** The range of the folded text. */
  readonly first: string
  readonly last: string
}

/**
 * The rows of a table beside each of their words that is in the range. The index of words has the order of `w.word` and
 * `w.found_id`. The workspace is `$1`.
 * @param table with its name in the statement
 */
export const foundByWord = (table: string, { list, of, first, last }: WordSearch) =>
  `(select word, id as found_id from name_words
     where workspace_id = $1 and list = ${list} and word between ${first} and ${last}) w
   join ${table} on ${of}.id = w.found_id`

/**
 * Makes a search return a row once: by its first word in the range, and not if the name itself is in the range. Postgres
 * estimates that half of the rows pass such a condition, so it reads in the order of the index; for an equation it would expect
 * few rows, and sort them all.
 */
export const isFirstFound = ({ of, first, last }: WordSearch) =>
  `${of}.name_folded not between ${first} and ${last} and not exists
     (select from later_words(${of}.name) one where one >= ${first} and one < w.word)`

/** How long keys of a project live at most. Times are milliseconds since 1970. */
const dayMs = 86_400_000

/** When a key that is made now ends at the latest. @param days null: at no time */
export const lifetimeEnd = (createdAt: number, days: number | null): number | null =>
  days === null ? null : createdAt + days * dayMs

/** The earlier of two ends; null is no end. */
export const earlierEnd = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other)

/**
 * SQL for how long after they were made nodes refuse the keys of a project; null: at any age they accept them.
 * @param project what the statement calls the row of the project.
 */
export const refusedAfterSql = (project: string): string =>
  `case when ${project}.lifetime = 'refuse' then make_interval(hours => 24 * ${project}.max_key_lifetime_days) end`

/** SQL for the first id of what is made at a time. Ids begin with the time at which they are made, in ms. */
export const firstIdAtSql = (time: string): string =>
  `(lpad(to_hex(floor(extract(epoch from ${time}) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid`

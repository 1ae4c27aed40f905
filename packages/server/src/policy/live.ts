/** How long a node counts as live after it was seen. */
export const liveMs = 90_000

/** The same in SQL. The function `policy_nodes_seen` has it too, to make space for new nodes. */
export const liveInterval = `interval '${liveMs} milliseconds'`

/** Whether a row of `policy_nodes` is a live node. The query reads the clock once, where the function alone reads it for each row. */
export const isLiveSql = (row: string) => `${row}.seen_at > (select service_now() - ${liveInterval})`

/** Whether a row of `policy_nodes` holds 80 % or more of the keys that its node may hold. One that does not report that does not. */
export const isFullSql = (row: string) => `coalesce(${row}.held_keys >= 0.8 * ${row}.held_keys_max, false)`

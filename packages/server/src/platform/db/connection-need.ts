/** One for each lane of docs/scaling.md; a test compares the two. */
export const laneConnections = 23

/** For LISTEN, upkeep with its chains, a scrape of metrics, mail, two verifications, and the comparison of timelines. */
const otherConnections = 1 + 2 + 1 + 4 + 2 + 1

/** How many connections a process opens at most. */
export const connectionsOf = (poolSize: number): number => poolSize + laneConnections + otherConnections

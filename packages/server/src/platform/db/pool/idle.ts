/**
 * The connections of pool and lanes on which nothing runs. What breaks one of them, such as a failover, mostly has broken the
 * others too, and each of these would fail the request that finds it so.
 */
export interface IdleConnections {
  /** @param drop forgets and cuts the idle ones of one owner. */
  add(drop: () => void): void
  /**
   * For when an open connection broke by itself. A deadline is no reason: on overload, opening connections again would
   * lead to the next one.
   */
  dropAll(): void
}

export function createIdleConnections(): IdleConnections {
  const drops: (() => void)[] = []
  let isDropping = false
  return {
    add: drop => void drops.push(drop),
    dropAll() {
      // Owners report what they drop as broken.
      if (isDropping) return
      isDropping = true
      for (const drop of drops) drop()
      isDropping = false
    },
  }
}

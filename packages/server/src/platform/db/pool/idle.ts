/**
 * The connections of pool and lanes on which nothing runs. The cause that breaks one connection, such as a failover, has mostly
 * broken the idle ones too, and each broken one would fail the request that takes it.
 */
export interface IdleConnections {
  /** @param drop forgets and cuts the idle connections of one owner. */
  add(drop: () => void): void
  /**
   * Call it when an open connection broke by itself. A deadline is no reason: on overload, opening connections again would make
   * more requests miss their deadline.
   */
  dropAll(): void
}

export function createIdleConnections(): IdleConnections {
  const drops: (() => void)[] = []
  let isDropping = false
  return {
    add: drop => void drops.push(drop),
    dropAll() {
      // An owner that drops connections reports them as broken, which calls this function again.
      if (isDropping) return
      isDropping = true
      for (const drop of drops) drop()
      isDropping = false
    },
  }
}

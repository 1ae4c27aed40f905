/**
 * What one of several processes that share a port has of a bound, so that they have no more together than one has: at least 1,
 * and nothing of nothing.
 */
export const partOf = (whole: number, processes: number): number =>
  whole === 0 ? 0 : Math.max(1, Math.floor(whole / processes))

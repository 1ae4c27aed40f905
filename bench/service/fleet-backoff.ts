/** Milliseconds. The SDK's schedule after an error: exponential with full jitter, never above one interval. */
const firstMs = 500
const leastMs = 100
const mostMs = 5_000

/** How long a node waits before it asks again, after that many refusals in a row. */
export const backoffMs = (failures: number) =>
  Math.max(leastMs, Math.random() * Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 16)))

type Uncached = { cache?: 'no-store' }

let known: Uncached | undefined

/**
 * Keeps answers out of the caches of a platform: Next 14 would store snapshots of keys in `.next/cache`. Not asked while the module
 * loads, because a worker may make no request then.
 */
export function uncached(): Uncached {
  known ??= uncachedBy(Request)
  return known
}

/** Older Workers refuse the option when a request is made. */
export function uncachedBy(Made: new (url: string, init: Uncached) => unknown): Uncached {
  const asked: Uncached = { cache: 'no-store' }
  try {
    new Made('http://localhost/', asked)
    return asked
  } catch {
    return {}
  }
}

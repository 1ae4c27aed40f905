/** Replacements for parts that work between requests, where a host of workers runs nothing. */

/** @throws TypeError always, and not only with the first request */
export function createKeyring(): never {
  throw new TypeError('A worker cannot poll between requests: use createWorkerKeyring of @keyrail/sdk/worker')
}

/** @throws TypeError always, as its keyring does */
export function createKeyrail(): never {
  throw new TypeError(
    'A worker has no createKeyrail: use createWorkerKeyring, createLimiter and createIdempotency of @keyrail/sdk/worker',
  )
}

/** @throws TypeError always, because counts would be lost silently */
export function createUsageReporter(): never {
  throw new TypeError('A worker cannot report usage between requests: count on a long-running server')
}

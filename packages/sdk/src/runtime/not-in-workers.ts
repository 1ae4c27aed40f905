/** What works between requests, where a host of workers lets nothing run. */

/** @throws TypeError always, where it would fail at the first request */
export function createKeyring(): never {
  throw new TypeError('A worker cannot poll between requests: use createWorkerKeyring of @keyrail/sdk/worker')
}

/** @throws TypeError always, like its keyring */
export function createKeyrail(): never {
  throw new TypeError(
    'A worker has no createKeyrail: use createWorkerKeyring, createLimiter and createIdempotency of @keyrail/sdk/worker',
  )
}

/** @throws TypeError always, where counts would be lost without a word */
export function createUsageReporter(): never {
  throw new TypeError('A worker cannot report usage between requests: count on a server that stays')
}

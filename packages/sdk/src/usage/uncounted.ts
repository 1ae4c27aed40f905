import { KeyrailError } from '../runtime/errors.ts'

/** Errors about counts that were not accepted. */

export const passedOver = (ignored: number, records: number): KeyrailError =>
  new KeyrailError(
    'usage_ignored',
    `${ignored} of ${records} records of a usage report were ignored: their key is not in this environment, or their hour is too old or in the future`,
    { retryable: false },
  )

export const unsent = (requests: number): KeyrailError =>
  new KeyrailError('usage_unsent', `${requests} counted requests were not reported before the end`, {
    retryable: false,
  })

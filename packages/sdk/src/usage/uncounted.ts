import { type KeyrailError, lasting } from '../runtime/errors.ts'

/** Errors about counts that were not accepted. */

export const passedOver = (ignored: number, records: number): KeyrailError =>
  lasting(
    'usage_ignored',
    `${ignored} of ${records} records of a usage report were ignored: their key is not in this environment, or their hour is too old or in the future`,
  )

export const unsent = (requests: number): KeyrailError =>
  lasting('usage_unsent', `${requests} counted requests were not reported before the end`)

import { KeyrailError } from '../runtime/errors.ts'

/** What is told of counts that were not taken. */

export const passedOver = (ignored: number, records: number): KeyrailError =>
  new KeyrailError(
    'usage_ignored',
    `${ignored} of ${records} records of a usage report were not counted: of no key of this environment, or of no hour that is taken`,
    { retryable: false },
  )

export const unsent = (requests: number): KeyrailError =>
  new KeyrailError('usage_unsent', `${requests} counted requests were not reported before the end`, {
    retryable: false,
  })

/** What `write` and `end` of Node's response take. */

export type Callback = (error?: Error) => void

/** @throws TypeError for every chunk that Node rejects */
export function toBytes(chunk: unknown, encoding: unknown): Uint8Array {
  if (typeof chunk === 'string') {
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
  }
  // Copied, because the handler may reuse its buffer.
  if (chunk instanceof Uint8Array) return Uint8Array.from(chunk)
  throw Object.assign(new TypeError('The chunk must be a string or a Uint8Array'), {
    code: 'ERR_INVALID_ARG_TYPE',
  })
}

export const callbackIn = (given: readonly unknown[]): Callback | undefined =>
  given.find((each): each is Callback => typeof each === 'function')

/** Passes an error to the callback of a call after the end, as Node does. */
export function failSoon(callback: Callback | undefined, code: string): void {
  process.nextTick(callback ?? (() => {}), Object.assign(new Error('The answer has ended'), { code }))
}

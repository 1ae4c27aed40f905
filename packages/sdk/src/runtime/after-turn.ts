const { setImmediate: immediate, navigator } = globalThis as {
  setImmediate?: (work: () => void) => unknown
  navigator?: { userAgent?: string }
}
/** Cloudflare ends a request that waits for a call of another request, and there each task belongs to one request. */
const isWorker = navigator?.userAgent === 'Cloudflare-Workers'

/**
 * Runs work once the event loop has handled what has arrived already; in workers, after the current task. The functions are those
 * of the moment at which this file was loaded: a test that replaces timers later holds up no call of the SDK.
 */
export const afterTurn = (work: () => void): void => {
  if (immediate === undefined || isWorker) queueMicrotask(work)
  else immediate(work)
}

/** Whether this is Cloudflare's runtime, which ends a request that waits for a call of another, and what a request leaves behind. */
export const isolatesRequests = (): boolean =>
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent === 'Cloudflare-Workers'

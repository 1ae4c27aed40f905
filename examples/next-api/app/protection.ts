import { createKeyrail } from '@keyrail/sdk'
import type { Protection } from '@keyrail/sdk/next'

/** Called with the first request, and never during `next build`. */
export function protection(): Protection {
  const { KEYRAIL_URL = 'http://127.0.0.1:8080', KEYRAIL_SECRET_KEY = '', KEYRAIL_PROJECT = '' } = process.env
  const keyrail = createKeyrail({ url: KEYRAIL_URL, secretKey: KEYRAIL_SECRET_KEY, project: KEYRAIL_PROJECT })
  return { keyring: keyrail, limiter: keyrail, idempotency: keyrail }
}

import { createKeyrail, type Keyrail } from '@keyrail/sdk'
import type { Protection } from '@keyrail/sdk/next'

/** `next dev` loads this file again with every change, and the process needs one keyring. */
const held = globalThis as { keyrail?: Keyrail }

/** Called with the first request, and never during `next build`. */
export function protection(): Protection {
  const { KEYRAIL_URL = 'http://127.0.0.1:8080', KEYRAIL_SECRET_KEY = '', KEYRAIL_PROJECT = '' } = process.env
  held.keyrail ??= createKeyrail({
    url: KEYRAIL_URL,
    secretKey: KEYRAIL_SECRET_KEY,
    project: KEYRAIL_PROJECT,
  })
  const { keyrail } = held
  return { keyring: keyrail, idempotency: keyrail }
}

import { createIdempotency, createKeyring, createLimiter } from '@keyrail/sdk'
import { withKey } from '@keyrail/sdk/next'

const { KEYRAIL_URL = 'http://127.0.0.1:8080', KEYRAIL_SECRET_KEY = '', KEYRAIL_PROJECT = '' } = process.env
const settings = { baseUrl: KEYRAIL_URL, secretKey: KEYRAIL_SECRET_KEY, projectId: KEYRAIL_PROJECT }
const keyring = createKeyring(settings)
const protection = { limiter: createLimiter(settings), idempotency: createIdempotency(settings) }
await keyring.ready()

export const GET = withKey(
  keyring,
  (_request, { apiKey }) => Response.json({ customer: apiKey.tenantId }),
  protection,
)

let payments = 0
export const POST = withKey(
  keyring,
  (_request, { apiKey }) => Response.json({ id: ++payments, customer: apiKey.tenantId }, { status: 201 }),
  protection,
)

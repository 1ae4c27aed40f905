import { withKey } from '@keyrail/sdk/next'
import { protection } from '../protection.ts'

export const GET = withKey(protection, (_request, { apiKey }) =>
  Response.json({ customer: apiKey.externalId }),
)

let payments = 0
export const POST = withKey(protection, (_request, { apiKey }) =>
  Response.json({ id: ++payments, customer: apiKey.externalId }, { status: 201 }),
)

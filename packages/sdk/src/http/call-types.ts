import type * as idempotency from '@keyrail/contract/idempotency'
import type * as ratelimit from '@keyrail/contract/ratelimit'
import type * as usage from '@keyrail/contract/usage'
import type { Static } from 'typebox'

// Read by `build.ts`, as `admin/types.ts` is.

export type ClaimBody = Static<typeof idempotency.ClaimBody>
export type CompleteBody = Static<typeof idempotency.CompleteBody>
export type HeldBody = Static<typeof idempotency.ReleaseBody>
export type RateLimitCheck = Static<typeof ratelimit.RateLimitCheck>
export type UsageReport = Static<typeof usage.UsageReport>

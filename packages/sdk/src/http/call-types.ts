import type * as idempotency from '@keyrail/contract/idempotency'
import type * as ratelimit from '@keyrail/contract/ratelimit'
import type * as usage from '@keyrail/contract/usage'
import type { Static } from 'typebox'

// `build.ts` reads these lines, like those of `admin/types.ts`.

export type ClaimBody = Static<typeof idempotency.ClaimBody>
export type ClaimVerdict = Static<typeof idempotency.ClaimVerdict>
export type CompleteBody = Static<typeof idempotency.CompleteBody>
export type CompleteVerdict = Static<typeof idempotency.CompleteVerdict>
export type HeartbeatVerdict = Static<typeof idempotency.HeartbeatVerdict>
export type HeldBody = Static<typeof idempotency.ReleaseBody>
export type ReleaseVerdict = Static<typeof idempotency.ReleaseVerdict>
export type RateLimitCheck = Static<typeof ratelimit.RateLimitCheck>
export type RateLimitVerdict = Static<typeof ratelimit.RateLimitVerdict>
export type RefusalReport = Static<typeof usage.RefusalReport>
export type UsageReport = Static<typeof usage.UsageReport>

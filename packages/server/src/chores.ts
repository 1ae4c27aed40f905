import { pruneBodies, pruneClaims, pruneStoredBytes } from './idempotency/upkeep.ts'
import { pruneSessions, pruneTokens } from './people/upkeep.ts'
import { makeSigningKey } from './platform/crypto/signing-keys.ts'
import { pruneReplays } from './platform/db/replay.ts'
import { erasePlainSecrets, type SealedStore } from './platform/db/sealed-store.ts'
import { pruneSigningKeys, rotateSigningKeys } from './platform/db/signing-keys.ts'
import type { Chore } from './platform/db/upkeep.ts'
import { freeStuckMail, pruneFailedMail, pruneMailThrottles } from './platform/mail/upkeep.ts'
import { pruneChanges, pruneNodes } from './policy/upkeep.ts'
import { pruneCounters } from './ratelimit/upkeep.ts'
import { pruneSecurityEvents } from './security-events/upkeep.ts'
import { pruneUsageHours, pruneUsageMonths, pruneUsageReports } from './usage/upkeep.ts'
import { pruneLeaks } from './webhooks/upkeep.ts'

/**
 * All that is removed when it is kept no longer, and renewed when it is due.
 * @param signing where the keys are that sign embed tokens; null: they are the operator's to change.
 */
export const choresOf = (signing: SealedStore | null): readonly Chore[] => [
  pruneChanges,
  pruneNodes,
  pruneReplays,
  pruneCounters,
  pruneClaims,
  pruneBodies,
  pruneStoredBytes,
  pruneUsageReports,
  pruneUsageHours,
  pruneUsageMonths,
  pruneSessions,
  pruneTokens,
  pruneLeaks,
  pruneSecurityEvents,
  pruneMailThrottles,
  pruneFailedMail,
  freeStuckMail,
  erasePlainSecrets,
  pruneSigningKeys,
  ...(signing === null ? [] : [rotateSigningKeys(signing, makeSigningKey)]),
]

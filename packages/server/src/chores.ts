import { verifyChains } from './audit/upkeep.ts'
import { pruneBodies, pruneClaims, pruneStoredBytes } from './idempotency/upkeep.ts'
import { pruneEndedKeys } from './keys/upkeep.ts'
import { pruneLeaks, queueLeftLetters } from './leaks/upkeep.ts'
import { pruneSessions, pruneTokens } from './people/upkeep.ts'
import { makeSigningKey } from './platform/crypto/signing-keys.ts'
import { pruneReplays } from './platform/db/replay.ts'
import { erasePlainSecrets, type SealedStore } from './platform/db/sealed-store.ts'
import { pruneSigningKeys, rotateSigningKeys } from './platform/db/signing-keys.ts'
import type { Chore } from './platform/db/upkeep.ts'
import {
  freeStuckMail,
  pruneFailedMail,
  pruneLetterCounts,
  pruneMailThrottles,
} from './platform/mail/upkeep.ts'
import { pruneChanges, pruneNodes } from './policy/upkeep.ts'
import { pruneCounters } from './ratelimit/upkeep.ts'
import { pruneEndedSecretKeys, pruneEndings } from './secret-keys/upkeep.ts'
import { pruneSecurityEvents } from './security-events/upkeep.ts'
import { pruneUsageDays, pruneUsageHours, pruneUsageMonths, pruneUsageReports } from './usage/upkeep.ts'
import { pruneWorkspaceLoads } from './workspace/upkeep.ts'

/**
 * Everything that is deleted after its retention, or renewed when it is due.
 * @param signing the stored keys that sign embed tokens; null when the operator provides them.
 * @param outside what verifies the audit chains.
 */
export const choresOf = (
  signing: SealedStore | null,
  outside: Parameters<typeof verifyChains>[0],
): readonly Chore[] => [
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
  pruneUsageDays,
  pruneSessions,
  pruneTokens,
  pruneLeaks,
  pruneEndings,
  pruneEndedSecretKeys,
  pruneEndedKeys,
  queueLeftLetters,
  pruneSecurityEvents,
  pruneWorkspaceLoads,
  pruneMailThrottles,
  pruneLetterCounts,
  pruneFailedMail,
  freeStuckMail,
  erasePlainSecrets,
  pruneSigningKeys,
  ...(signing === null ? [] : [rotateSigningKeys(signing, makeSigningKey)]),
  // Last, because it takes longest.
  verifyChains(outside),
]

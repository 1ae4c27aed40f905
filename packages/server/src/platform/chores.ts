import { pruneReplays } from './db/replay.ts'
import { erasePlainSecrets } from './db/sealed/store.ts'
import type { Chore } from './db/upkeep.ts'
import { freeStuckMail, pruneFailedMail, pruneLetterCounts, pruneMailThrottles } from './mail/upkeep.ts'

/** Upkeep of the tables of the platform. */
export const platformChores: readonly Chore[] = [
  pruneReplays,
  pruneMailThrottles,
  pruneLetterCounts,
  pruneFailedMail,
  freeStuckMail,
  erasePlainSecrets,
]

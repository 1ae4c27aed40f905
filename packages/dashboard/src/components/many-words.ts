import type { BulkAction } from '@keyrail/contract/vendor/bulk'
import { disableKeys, enableKeys, revokeKeys } from '../api/keys.ts'
import { counted, countedAre, figure } from './figures.ts'

interface ManyWords {
  readonly call: typeof revokeKeys
  readonly verb: string
  readonly lead: string
  /** After "3 keys are". */
  readonly done: string
}

/** What a person can do with many keys, in words. */
export const manyWords: Readonly<Record<BulkAction, ManyWords>> = {
  revoke: {
    call: revokeKeys,
    verb: 'Revoke',
    lead: 'This cannot be undone. Requests with these keys are refused as soon as your nodes hear of it.',
    done: 'revoked',
  },
  disable: {
    call: disableKeys,
    verb: 'Pause',
    lead: 'Requests with these keys are refused as soon as your nodes hear of it. Resume them at any time: they are then what they were.',
    done: 'paused',
  },
  enable: {
    call: enableKeys,
    verb: 'Resume',
    lead: 'Your nodes accept these keys again as soon as they hear of it, with the scopes, limits and expiry that they have.',
    done: 'resumed',
  },
}

/** "Pause 3 keys". */
export const sayMany = (action: BulkAction, count: number): string =>
  `${manyWords[action].verb} ${counted(count, 'key')}`

/** "3 keys are paused." */
export const sayDone = (action: BulkAction, done: number): string =>
  `${countedAre(done, 'key')} ${manyWords[action].done}.`

/** "120 of 341 keys are paused." */
export const sayProgress = (action: BulkAction, done: number, matched: number): string =>
  `${figure(done)} of ${countedAre(matched, 'key')} ${manyWords[action].done}.`

/** Why one key failed. */
export const failureWords = {
  not_found: 'does not exist any more',
  key_not_active: 'is revoked or expired',
} as const

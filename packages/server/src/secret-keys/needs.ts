import type { Clock } from '../platform/clock.ts'
import type { Cursors } from '../platform/cursor.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Endings } from './endings.ts'

/** What the routes of this room need from outside; `deps.ts` gives it. */
export interface SecretKeyNeeds {
  readonly config: { readonly maxActiveSecretKeys: number }
  readonly clock: Clock
  readonly cursors: Cursors
  readonly makeId: MakeId
  /** Ends what revoked keys have made. */
  readonly endings: Pick<Endings, 'follow'>
  readonly randomBytes: (size: number) => Buffer
}

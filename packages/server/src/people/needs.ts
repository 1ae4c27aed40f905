import type { Clock } from '../platform/clock.ts'
import type { Passwords } from '../platform/crypto/password.ts'
import type { Cursors } from '../platform/cursor.ts'
import type { Db } from '../platform/db/db.ts'
import type { MakeId } from '../platform/ids.ts'
import type { NoteEvents } from '../security-events/record.ts'
import type { FindAccount } from './find-account.ts'
import type { SignInGuard } from './sign-in-guard.ts'

/** What the routes of this room need from outside; `deps.ts` gives it. */
export interface PeopleNeeds {
  readonly config: {
    readonly signUp: 'open' | 'invited' | 'closed'
    readonly passwordMinLength: number
    readonly sessionMaxAgeS: number
    readonly sessionIdleS: number
  }
  readonly clock: Clock
  readonly cursors: Cursors
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
  readonly accounts: FindAccount
  /** Whether an address, by its `addressKey`, has a pending invitation. */
  readonly invitedAddresses: { run(addressKey: string): Promise<boolean> }
  /** Verifies the billing address of a workspace; false when the token is not that of its newest link. */
  readonly proveBillingAddress: (
    deps: Pick<PeopleNeeds, 'clock' | 'randomBytes'>,
    db: Db,
    workspaceId: string,
    digest: Buffer,
  ) => Promise<boolean>
  readonly disownings: {
    /** Ends what an account made that disowned it. */
    follow(userId: string): Promise<void>
    /** How many working secret keys of the workspace descend from the person. */
    countKeys(db: Db, workspaceId: string, userId: string): Promise<number>
  }
  readonly passwords: Passwords
  readonly signIns: SignInGuard
  readonly securityEvents: NoteEvents
}

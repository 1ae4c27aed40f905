import type { CommonNeeds } from '../gate/common-needs.ts'
import type { Passwords } from '../platform/crypto/password.ts'
import type { Db } from '../platform/db/db.ts'
import type { NoteEvents } from '../security-events/record.ts'
import type { FindAccount } from './find-account.ts'
import type { SignInGuard } from './sign-in-guard.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface PeopleNeeds extends CommonNeeds {
  readonly config: {
    readonly signUp: 'open' | 'invited' | 'closed'
    readonly passwordMinLength: number
    readonly sessionMaxAgeS: number
    readonly sessionIdleS: number
  }
  readonly accounts: FindAccount
  /** Whether an address, by its `addressKey`, has a pending invitation. */
  readonly invitedAddresses: { run(addressKey: string): Promise<boolean> }
  /** Verifies the billing address of a workspace; false when the token is not the one of the newest link. */
  readonly proveBillingAddress: (
    deps: Pick<PeopleNeeds, 'clock' | 'randomBytes'>,
    db: Db,
    workspaceId: string,
    digest: Buffer,
  ) => Promise<boolean>
  readonly disownings: {
    /** Ends what a disowned account made. */
    follow(userId: string): Promise<void>
    /** How many working secret keys of the workspace descend from the person. */
    countKeys(db: Db, workspaceId: string, userId: string): Promise<number>
  }
  readonly passwords: Passwords
  readonly signIns: SignInGuard
  readonly securityEvents: NoteEvents
}

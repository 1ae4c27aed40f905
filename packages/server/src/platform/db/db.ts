/**
 * The database as rooms see it. A call has a `db.ts`; a transaction (`transaction.ts`) is bound to its caller by
 * `right.ts` and `sender.ts`. `connection.ts` reaches a Postgres and prepares statements, `fresh-login.ts` reads a
 * changed password, `errors.ts` and `refusals.ts` read its errors, `touch.ts` changes exactly one row, `replay.ts`
 * stores answers by Idempotency-Key, `upkeep.ts` runs chores. Folders: `pool/`, `lanes/`, `listen/`, `failover/`,
 * `sealed/`, `migrate/`, `roles/`, `dump/`, `embedded/`.
 */

import type { Deadline } from '../concurrency/deadline.ts'
import type { HoldRows } from '../paging/list-leg.ts'
import type { Party, TurnPlace } from './pool/shares.ts'
import type { Right } from './right.ts'
import type { Sender } from './sender.ts'
import type { PersonTx, ReadTx, Work } from './transaction.ts'

/** The time for deleting a project or tenant, which revokes each of its keys in one transaction. */
export const cascadeMs = 60_000

/** The database for one call, or for one task of the service. `Bound` says what each transaction is bound to. */
export interface Db {
  /**
   * Runs one transaction that sees one workspace: row-level security shows only that workspace, and the role owns nothing. The
   * transaction runs again, once, after a deadlock, or if its connection breaks before it sends COMMIT: `work` may run twice.
   * @throws {Refusal} `unavailable` when the store does not answer in time; otherwise what `work` threw.
   * @throws {RightGone} when the caller's right has ended.
   */
  inWorkspace<T>(workspaceId: string, work: Work<T>, options?: WorkOptions): Promise<T>
  /**
   * Runs one transaction in which Postgres refuses every write, in one round trip: `work` gives all its statements before it
   * waits for the first answer. The transaction holds no right.
   * @throws {Refusal} as `inWorkspace`.
   */
  readAtOnce<T>(workspaceId: string, work: Work<T, ReadTx>): Promise<T>
  /** As `inWorkspace`, for one person: the transaction sees the person's rows, and rows of no workspace. */
  asPerson<T>(userId: string, work: Work<T, PersonTx>, options?: PersonWorkOptions): Promise<T>
  /** The same database with another deadline, for one part of the call. */
  by(deadline: Deadline): Db
}

/** What the transactions of one call are bound to. */
export interface Bound {
  /** Null: each transaction has as long as a request. */
  readonly deadline: Deadline | null
  /** The caller's right, which each transaction holds until it ends; null: the call needs no right. */
  readonly right: Right | null
  /** The party in whose name the transactions wait for a connection; null: the transaction's workspace or person. */
  readonly party: Party | null
  /** Where the call stands in the queue of its workspace or person. */
  readonly place?: TurnPlace
  /** Whether the call's answer says that something is stored, so that the synchronous standby must have it too. */
  readonly isConfirmed: boolean
  /** Who sent the request; undefined where it had no credential. */
  readonly sender?: Sender
  /** Reserves memory for the rows of a list, in bytes in total; null: no limit. */
  readonly holdRows: HoldRows | null
}

/** For tasks of the service itself, which no call waits for. */
export const unbound: Bound = { deadline: null, right: null, party: null, isConfirmed: false, holdRows: null }

interface RightsOptions {
  /** Whether the transaction ends rights, with `endRights`. Such transactions run one at a time. */
  changesRights?: boolean
}

export interface WorkOptions extends RightsOptions {
  /**
   * For work that takes longer than a request, such as revoking every key of a project. The limits for a connection, for
   * each lock and for a silent store stay the same.
   */
  longWorkMs?: number
  /** A person whose rows are visible too. */
  userId?: string
  /** The name under which the transaction waits for a connection; unset: the workspace. */
  inNameOf?: string
}

export interface PersonWorkOptions extends RightsOptions {
  /** The person has just proved who they are, on a route that is open to strangers. */
  isProven?: boolean
}

import type { Budgets } from '../platform/budgets.ts'
import type { Clock } from '../platform/clock.ts'
import type { JsonThread } from '../platform/http/body/json-thread.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Endings } from '../secret-keys/endings.ts'
import type { CodehostKeys } from './codehost-keys.ts'
import type { FindLeaked } from './find-leaked.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface LeakNeeds {
  readonly clock: Clock
  readonly makeId: MakeId
  /** Ends what was made with leaked credentials. */
  readonly endings: Pick<Endings, 'follow'>
  readonly randomBytes: (size: number) => Buffer
  readonly budgets: Pick<Budgets, 'requestMs'>
  readonly codehostKeys: CodehostKeys
  readonly findLeaked: Pick<FindLeaked, 'run'>
  /** Reads a large report, so that no other request waits for it. */
  readonly jsonThread: JsonThread
  readonly log: Logger
}

import type { Config } from './config.ts'
import type { BuildState } from './dashboard/dashboard.ts'
import type { Budgets } from './platform/budgets.ts'
import type { Clock } from './platform/clock.ts'
import type { Connection } from './platform/db/connection.ts'
import type { Logger } from './platform/observe/log.ts'

/** What a service is opened with. */
export interface Outside {
  config: Config
  log: Logger
  connection: Connection
  /** The same database without a pooler, if there is one: LISTEN needs a dedicated session. */
  directConnection?: Connection
  clock?: Clock
  randomBytes?: (size: number) => Buffer
  /** Tests replace the defaults, so that they pass on a machine of any speed. */
  budgets?: Budgets
  /** Where the dashboard is built, and what is known of it; by default, it is built in the checkout. */
  dashboard?: { folder?: string; state?: BuildState }
}

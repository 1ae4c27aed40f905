import type { Budgets } from '../src/platform/budgets.ts'
import { type Connection, withConnectMs } from '../src/platform/db/connection.ts'
import { openLaneConnections } from '../src/platform/db/lanes/connections.ts'
import { type LaneObserver, type OwnedLane, openLane } from '../src/platform/db/lanes/lane.ts'
import { type Lanes, openLanes } from '../src/platform/db/lanes/lanes.ts'
import type { LaneSpec } from '../src/platform/db/lanes/spec.ts'
import { createIdleConnections } from '../src/platform/db/pool/idle.ts'
import { openPool, type Pool } from '../src/platform/db/pool/pool.ts'
import { uncounted } from '../src/platform/observe/metrics.ts'

const longMs = 30_000

/**
 * For tests: a machine that stalls for some seconds must not look like a silent store. Tests of time limits, or of a store
 * that hangs, ask for `serviceBudgets`.
 */
export const patientBudgets: Budgets = {
  requestMs: longMs,
  connectMs: longMs,
  laneStatementMs: longMs,
  laneLockMs: longMs,
  watchdogMs: longMs,
  nodeNoteMs: longMs,
  // Never by itself, so that no test meets rows that appear a while after its request.
  countsMs: 86_400_000,
  closeMs: longMs,
}

interface TestPoolOptions {
  readonly budgets?: Budgets
  readonly deadlockRetried?: () => void
}

/** Opens a pool beside that of the service. The caller closes it. */
export function openTestPool(
  connection: Connection,
  size: number,
  { budgets = patientBudgets, deadlockRetried = () => {} }: TestPoolOptions = {},
): Pool {
  return openPool({
    connection: withConnectMs(connection, budgets.connectMs),
    size,
    budgets,
    hints: { announce() {} },
    lanes: { idle: createIdleConnections() },
    observer: { ...uncounted, deadlockRetried },
  })
}

/** Opens lanes beside those of the service, as in another process. The caller closes them. */
export const openTestLanes = (
  connection: Connection,
  batchSent: (lane: string, items: number) => void = () => {},
): Lanes =>
  openLanes(withConnectMs(connection, patientBudgets.connectMs), patientBudgets, { ...uncounted, batchSent })

/** Opens one lane, with a connection of that lane alone. The caller closes it. */
export function openTestLane<In, Out>(
  connection: Connection,
  spec: LaneSpec<In, Out>,
  observer: LaneObserver = uncounted,
): OwnedLane<In, Out> {
  const budgets = patientBudgets
  const own = openLaneConnections({
    connection,
    name: `lane ${spec.name}`,
    most: 1,
    isShared: false,
    budgets,
    idle: createIdleConnections(),
  })
  const lane = openLane(own, spec, budgets, observer)
  return {
    ...lane,
    async close() {
      await lane.close()
      await own.close()
    },
  }
}

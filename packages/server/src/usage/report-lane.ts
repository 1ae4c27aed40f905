import type { Env } from '@keyrail/contract/shared'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import type { Statement } from '../platform/db/connection.ts'
import { isLockTimeout } from '../platform/db/errors.ts'
import { confirmAnswer } from '../platform/db/failover/confirm.ts'
import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Ask } from '../platform/db/lanes/spec.ts'
import { begin, commit, rollback } from '../platform/db/pool/transaction-control.ts'
import { readReports, waitForLocks } from './statements.ts'

/** What identifies a report. Its id is unique within one workspace and environment. */
export interface Named {
  readonly workspaceId: string
  readonly env: Env
  readonly reportId: string
}

/** How many records of a report were counted, and how many ignored. */
export interface Tally {
  readonly accepted: number
  readonly ignored: number
}

/**
 * Null: another transaction has locked a row of the report's workspace; ask again. `absent`: the report names something that
 * does not exist, and was not taken.
 */
export type ReportLane<Report> = Lane<Report, Tally | 'absent' | null>

/** A kind of report. */
interface Kind<Report> {
  /** The name of the lane. */
  readonly name: string
  /** Its first parameters are workspaces, environments and ids of reports, no two the same. */
  readonly take: Statement
  /** Its other parameters. */
  values(reports: readonly Report[]): unknown[]
  bytesOf(report: Report): number
}

/** How long reports wait for a locked row, in ms. Then reports of other workspaces go on without the waiting ones. */
const lockMs = 300

export function openReportLane<Report extends Named>(lanes: Lanes, kind: Kind<Report>): ReportLane<Report> {
  return lanes.open<Report, Tally | 'absent' | null>({
    name: kind.name,
    shares: 'writes',
    // A report that is sent again is recognised by its id.
    repeatable: true,
    async converse(ask, reports) {
      const tallies = await takeAll(ask, kind, [...firstOfEach(reports).values()])
      return reports.map(report => tallies.get(nameOf(report)) ?? null)
    },
    // One key can keep thousands of reports waiting.
    partyOf: ({ workspaceId }) => workspaceId,
    bytesOf: report => kind.bytesOf(report),
  })
}

/** The first report of each id, by name. Later reports with the same id in the batch get the same answer. */
function firstOfEach<Report extends Named>(reports: readonly Report[]): Map<string, Report> {
  const first = new Map<string, Report>()
  for (const report of reports) {
    const name = nameOf(report)
    if (!first.has(name)) first.set(name, report)
  }
  return first
}

const nameOf = ({ workspaceId, env, reportId }: Named): string => `${workspaceId} ${env} ${reportId}`

type Tallies = Map<string, Tally | 'absent'>

/**
 * Takes all reports in one transaction. If a row is locked for too long, takes each workspace's reports in a separate
 * transaction.
 */
async function takeAll<Report extends Named>(
  ask: Ask,
  kind: Kind<Report>,
  reports: readonly Report[],
): Promise<Tallies> {
  const together = await takeUnlessHeld(ask, kind, reports)
  if (together !== null) return together
  const byWorkspace = Map.groupBy(reports, ({ workspaceId }) => workspaceId)
  const tallies: Tallies = new Map()
  if (byWorkspace.size === 1) return tallies
  for (const own of byWorkspace.values()) {
    for (const [name, tally] of (await takeUnlessHeld(ask, kind, own)) ?? []) tallies.set(name, tally)
  }
  return tallies
}

async function takeUnlessHeld<Report extends Named>(
  ask: Ask,
  { take, values }: Kind<Report>,
  reports: readonly Report[],
): Promise<Tallies | null> {
  const keys = [
    reports.map(({ workspaceId }) => workspaceId),
    reports.map(({ env }) => env),
    reports.map(({ reportId }) => reportId),
  ]
  try {
    const [, , , rows = []] = await ask(
      { statement: begin, values: [] },
      { statement: waitForLocks, values: [String(lockMs)] },
      { statement: take, values: [...keys, ...values(reports)] },
      { statement: readReports, values: keys },
      // A report that was taken before writes nothing, and its sender can forget it now.
      { statement: confirmAnswer, values: [] },
      { statement: commit, values: [] },
    )
    const tallies: Tallies = new Map(reports.map(report => [nameOf(report), 'absent']))
    for (const row of rows)
      tallies.set(nameOf(reports[Number(row.place) - 1] as Report), {
        accepted: Number(row.accepted),
        ignored: Number(row.ignored),
      })
    return tallies
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    await ask({ statement: rollback, values: [] })
    return null
  }
}

/** An array as text, which the statement casts: the inner arrays of a two-dimensional array would need one length. */
export const arrayOf = (items: readonly (string | number)[]): string => `{${items.join(',')}}`

const hourMs = 3_600_000
/** Hours since 1970, in UTC. */
export const hourOf = (time: string): number => Math.floor(new Date(time).getTime() / hourMs)

/** Each round waits for the locked row. At the caller's deadline the lane refuses, which ends the loop. */
export async function untilTaken<Report>(
  lane: Pick<ReportLane<Report>, 'run'>,
  deadline: Deadline,
  report: Report,
): Promise<Tally | 'absent'> {
  for (;;) {
    const tally = await lane.run(report, deadline)
    if (tally !== null) return tally
  }
}

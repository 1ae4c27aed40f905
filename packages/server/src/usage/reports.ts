import type { Env } from '@keyrail/contract/shared'
import type { Connection } from '../platform/db/connection.ts'
import { isLockTimeout } from '../platform/db/errors.ts'
import { type Ask, type Lane, type LaneObserver, openLane } from '../platform/db/lane.ts'
import { beginReports, commitReports, readReports, rollbackReports, takeReports } from './sql.ts'

/** What a server has counted. The id is its own, among those of one workspace and environment. */
export interface Report {
  readonly workspaceId: string
  /** Of the credential that sent it. */
  readonly env: Env
  /** The only projects of which keys are counted; null: of all. */
  readonly projectIds: readonly string[] | null
  readonly reportId: string
  readonly sampleRate: number
  readonly records: readonly UsageRecord[]
}

export interface UsageRecord {
  readonly keyId: string
  /** Hours since 1970, in UTC. */
  readonly hour: number
  readonly count: number
}

/** How many records of a report were counted, and how many passed over. */
export interface Tally {
  readonly accepted: number
  readonly ignored: number
}

/** Null: somebody holds a row of the report's workspace. Ask again. */
export type Reports = Lane<Report, Tally | null>

/** Whoever waits longer for a row in ms is let go of, so that reports of other workspaces go on. */
const lockMs = 300

export function openReports(connection: Connection, observer: LaneObserver): Reports {
  return openLane<Report, Tally | null>(
    connection,
    {
      name: 'usage_report',
      settings: `set lock_timeout = ${lockMs}`,
      // A report that was taken is known again by its id.
      repeatable: true,
      async converse(ask, reports) {
        const tallies = await takeAll(ask, [...firstOfEach(reports).values()])
        return reports.map(report => tallies.get(nameOf(report)) ?? null)
      },
      bytesOf: ({ records, projectIds }) => 160 + 64 * records.length + 40 * (projectIds?.length ?? 0),
    },
    observer,
  )
}

/** Of several with one id the first counts. */
function firstOfEach(reports: readonly Report[]): Map<string, Report> {
  const first = new Map<string, Report>()
  for (const report of reports) {
    const name = nameOf(report)
    if (!first.has(name)) first.set(name, report)
  }
  return first
}

const nameOf = ({ workspaceId, env, reportId }: Report): string => `${workspaceId} ${env} ${reportId}`

type Tallies = Map<string, Tally>

/** All in one transaction; where somebody holds a row of one workspace, each workspace in its own. */
async function takeAll(ask: Ask, reports: readonly Report[]): Promise<Tallies> {
  const together = await takeUnlessHeld(ask, reports)
  if (together !== null) return together
  const byWorkspace = Map.groupBy(reports, ({ workspaceId }) => workspaceId)
  const tallies: Tallies = new Map()
  if (byWorkspace.size === 1) return tallies
  for (const own of byWorkspace.values()) {
    for (const [name, tally] of (await takeUnlessHeld(ask, own)) ?? []) tallies.set(name, tally)
  }
  return tallies
}

async function takeUnlessHeld(ask: Ask, reports: readonly Report[]): Promise<Tallies | null> {
  const keys = [
    reports.map(({ workspaceId }) => workspaceId),
    reports.map(({ env }) => env),
    reports.map(({ reportId }) => reportId),
  ]
  const values = [
    ...keys,
    reports.map(({ sampleRate }) => sampleRate),
    reports.map(({ records }) => arrayOf(records.map(({ keyId }) => keyId))),
    reports.map(({ records }) => arrayOf(records.map(({ hour }) => hour))),
    reports.map(({ records }) => arrayOf(records.map(({ count }) => count))),
    reports.map(({ projectIds }) => projectIds && arrayOf(projectIds)),
  ]
  try {
    const [, , rows = []] = await ask(
      { statement: beginReports, values: [] },
      { statement: takeReports, values },
      { statement: readReports, values: keys },
      { statement: commitReports, values: [] },
    )
    return new Map(
      rows.map(row => [
        nameOf(reports[Number(row.place) - 1] as Report),
        { accepted: Number(row.accepted), ignored: Number(row.ignored) },
      ]),
    )
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    await ask({ statement: rollbackReports, values: [] })
    return null
  }
}

/** As text that the statement reads as an array, for arrays of arrays must be of one length. */
const arrayOf = (items: readonly (string | number)[]): string => `{${items.join(',')}}`

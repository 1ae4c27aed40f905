import type { Env } from '@keyrail/contract/shared'
import { confirmAnswer } from '../platform/db/confirm.ts'
import { isLockTimeout } from '../platform/db/errors.ts'
import type { Lane } from '../platform/db/lane.ts'
import type { Ask } from '../platform/db/lane-spec.ts'
import type { Lanes } from '../platform/db/lanes.ts'
import { begin, commit, rollback } from '../platform/db/transaction-control.ts'
import { readReports, takeReports, waitForLocks } from './statements.ts'

/** What a server has counted. Its id is unique within one workspace and environment. */
export interface Report {
  readonly workspaceId: string
  /** The environment of the credential that sent the report. */
  readonly env: Env
  /** Counts only the keys of these projects; null: all keys. */
  readonly projectIds: readonly string[] | null
  readonly reportId: string
  readonly sampleRate: number
  readonly records: readonly UsageRecord[]
}

interface UsageRecord {
  readonly keyId: string
  /** Hours since 1970, in UTC. */
  readonly hour: number
  readonly count: number
}

/** How many records of a report were counted, and how many ignored. */
export interface Tally {
  readonly accepted: number
  readonly ignored: number
}

/** Null: another transaction has locked a row of the report's workspace. Ask again. */
export type Reports = Lane<Report, Tally | null>

/** How long reports wait for a locked row, in ms. Then those of other workspaces go on without them. */
const lockMs = 300

export function openReports(lanes: Lanes): Reports {
  return lanes.open<Report, Tally | null>({
    name: 'usage_report',
    shares: 'writes',
    // A report that is sent again is recognised by its id.
    repeatable: true,
    async converse(ask, reports) {
      const tallies = await takeAll(ask, [...firstOfEach(reports).values()])
      return reports.map(report => tallies.get(nameOf(report)) ?? null)
    },
    // One key can keep thousands of reports waiting.
    partyOf: ({ workspaceId }) => workspaceId,
    bytesOf: ({ records, projectIds }) => 160 + 64 * records.length + 40 * (projectIds?.length ?? 0),
  })
}

/** The first report of each id, by name. The others of the batch are answered like it. */
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

/** Takes all reports in one transaction. If a row is locked for too long, takes each workspace in a transaction by itself. */
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
    const [, , , rows = []] = await ask(
      { statement: begin, values: [] },
      { statement: waitForLocks, values: [String(lockMs)] },
      { statement: takeReports, values },
      { statement: readReports, values: keys },
      // A report that was taken before writes nothing, and its sender forgets it now.
      { statement: confirmAnswer, values: [] },
      { statement: commit, values: [] },
    )
    return new Map(
      rows.map(row => [
        nameOf(reports[Number(row.place) - 1] as Report),
        { accepted: Number(row.accepted), ignored: Number(row.ignored) },
      ]),
    )
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    await ask({ statement: rollback, values: [] })
    return null
  }
}

/** An array as text, which the statement casts: the inner arrays of a two-dimensional array would need one length. */
const arrayOf = (items: readonly (string | number)[]): string => `{${items.join(',')}}`

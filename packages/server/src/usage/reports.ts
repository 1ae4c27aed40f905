import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { takeRefusals } from './refusals-sql.ts'
import { arrayOf, type Named, openReportLane, type ReportLane } from './report-lane.ts'
import { takeReports } from './statements.ts'

/** What a server has counted. The environment is that of the credential that sent the report. */
export interface Report extends Named {
  /** Counts only the keys of these projects; null: all keys. */
  readonly projectIds: readonly string[] | null
  readonly sampleRate: number
  readonly records: readonly UsageRecord[]
}

interface UsageRecord {
  readonly keyId: string
  /** Hours since 1970, in UTC. */
  readonly hour: number
  readonly count: number
}

/** What a server has refused. */
export interface RefusalReport extends Named {
  readonly projectId: string
  readonly records: readonly { readonly hour: number; readonly reason: string; readonly count: number }[]
}

/** Takes the reports of each kind. */
export interface Reports extends ReportLane<Report> {
  readonly refusals: ReportLane<RefusalReport>
}

export const openReports = (lanes: Lanes): Reports => ({
  ...openReportLane<Report>(lanes, {
    name: 'usage_report',
    take: takeReports,
    values: reports => [
      reports.map(({ sampleRate }) => sampleRate),
      reports.map(({ records }) => arrayOf(records.map(({ keyId }) => keyId))),
      reports.map(({ records }) => arrayOf(records.map(({ hour }) => hour))),
      reports.map(({ records }) => arrayOf(records.map(({ count }) => count))),
      reports.map(({ projectIds }) => projectIds && arrayOf(projectIds)),
    ],
    bytesOf: ({ records, projectIds }) => 160 + 64 * records.length + 40 * (projectIds?.length ?? 0),
  }),
  refusals: openReportLane<RefusalReport>(lanes, {
    name: 'refusal_report',
    take: takeRefusals,
    values: reports => [
      reports.map(({ projectId }) => projectId),
      reports.map(({ records }) => arrayOf(records.map(({ reason }) => reason))),
      reports.map(({ records }) => arrayOf(records.map(({ hour }) => hour))),
      reports.map(({ records }) => arrayOf(records.map(({ count }) => count))),
    ],
    bytesOf: ({ records }) => 200 + 64 * records.length,
  }),
})

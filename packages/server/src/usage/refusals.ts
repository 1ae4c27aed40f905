import { hash } from 'node:crypto'
import type { RefusalReport as RefusalReportBody, TakenRefusalReport } from '@keyrail/contract/usage'
import type { Refusals, RefusalsQuery, ShadowFigures } from '@keyrail/contract/vendor/usage'
import { guardPrefix, shadowRefusals } from '@keyrail/contract/verdicts'
import { assertSeesProject, type VendorPrincipal, visibleEnvs } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import type { Db } from '../platform/db/db.ts'
import { Refusal } from '../platform/refusal.ts'
import type { UsageNeeds } from './needs.ts'
import { listByReason } from './refusals-sql.ts'
import { hourOf, untilTaken } from './report-lane.ts'

/**
 * Adds the counts of refusals of a server, once for each `report_id`.
 * @throws {Refusal} `not_found`, for a project that does not exist, or that the principal cannot see.
 */
export async function reportRefusals(
  { usageReports }: UsageNeeds,
  { principal, body, deadline }: Call<VendorPrincipal, unknown, RefusalReportBody>,
): Promise<TakenRefusalReport> {
  assertSeesProject(principal, body.project_id)
  const id = body.report_id.toLowerCase()
  const tally = await untilTaken(usageReports.refusals, deadline, {
    workspaceId: principal.workspaceId,
    env: principal.reach === 'test' ? 'test' : (body.env ?? 'live'),
    reportId: apartFromUsage(id),
    projectId: body.project_id.toLowerCase(),
    records: body.records.map(({ hour, reason, count }) => ({ hour: hourOf(hour), reason, count })),
  })
  if (tally === 'absent') throw new Refusal('not_found')
  return { object: 'refusal_report', report_id: id, ...tally }
}

/** The id of the report among reports of usage, one of which may have the same `report_id`. */
const apartFromUsage = (id: string): string => hash('sha256', `refusals ${id}`, 'hex').slice(0, 32)

/** A project that the workspace does not have matches nothing. */
export async function getRefusals(
  db: Db,
  principal: VendorPrincipal,
  { days, project_id, env }: RefusalsQuery,
): Promise<Refusals> {
  const envs = env === undefined ? visibleEnvs(principal) : [env]
  const filter = { envs, days, projectId: project_id ?? null }
  const [refusals, shadow] = await db.readAtOnce(principal.workspaceId, tx => listByReason(tx, filter))
  const data = refusals.map(({ reason, count }) => ({ reason, count: Number(count) }))
  const total = data.reduce((sum, { count }) => sum + count, 0)
  return { object: 'refusals', days, total, data, shadow: toFigures(shadow) }
}

function toFigures(rows: Awaited<ReturnType<typeof listByReason>>[1]): ShadowFigures {
  const figures: ShadowFigures = { agreed: 0, accepted: 0, refused: [], guards: [] }
  for (const { reason, count } of rows) {
    if (reason === 'agreed' || reason === 'accepted') figures[reason] = Number(count)
    const compared = shadowRefusals.find(code => code === reason)
    if (compared !== undefined) figures.refused.push({ reason: compared, count: Number(count) })
    const ofGuard = shadowRefusals.find(code => `${guardPrefix}${code}` === reason)
    if (ofGuard !== undefined) figures.guards.push({ reason: ofGuard, count: Number(count) })
  }
  return figures
}

import { readWorkspaceFacts } from '../gate/workspace-facts.ts'
import type { Clock } from '../platform/clock.ts'
import { type Allowance, createAllowance } from '../platform/db/lanes/allowance.ts'
import type { Errands } from '../platform/db/pool/errands.ts'
import type { Logger } from '../platform/observe/log.ts'
import { dropInvented } from './invented.ts'
import { countAll, countOfProject } from './sql.ts'

const statementMs = 30_000
/** The part of each limit that a workspace may use until an owner has verified an address. */
export const unprovenPart = 1 / 10
/** From the first share of a limit on, counters of invented ids are deleted, down to the second share. */
const nearPart = 7 / 8
const wantedPart = 3 / 4

/** Counts the counter rows of each project in Postgres against its limit. Near the limit it deletes counters of invented ids. */
export function openCounterRows(
  errands: Pick<Errands, 'ask'>,
  limit: number,
  { monotonic }: Clock,
  log: Pick<Logger, 'warn' | 'info'>,
): Allowance {
  return createAllowance({
    limit,
    unprovenPart,
    monotonic,
    log,
    count: (place, mostOf) =>
      errands.ask('counter rows', statementMs, async client => {
        const { workspaceId, env, projectId } = place
        const facts = await readWorkspaceFacts(client, workspaceId)
        const most = mostOf(facts.isProven)
        const count = async (): Promise<number> => {
          const { rows } =
            projectId === null
              ? await client.query(countAll.text, [workspaceId, env, most + 1])
              : await client.query(countOfProject.text, [workspaceId, env, projectId, most + 1])
          return rows[0].rows
        }
        const held = await count()
        if (held < most * nearPart) return { ...facts, held }
        const dropped = await dropInvented(client, place, Math.ceil(held - most * wantedPart))
        if (dropped === 0) return { ...facts, held }
        log.info({ workspace_id: workspaceId, env, rows: dropped }, 'counters of invented ids were dropped')
        return { ...facts, held: await count() }
      }),
  })
}

import { Readable } from 'node:stream'
import type { VendorPrincipal } from '../gate/principal.ts'
import { deadlineMs } from '../platform/db/deadline.ts'
import type { Db } from '../platform/db/pool.ts'
import type { Exports } from './exports.ts'
import { toAuditLog } from './resource.ts'
import { type AuditRow, readExportPage, readHead } from './sql.ts'

/** Of a page, whichever comes first: what an export holds in memory while its reader takes a rest. */
const pageMost = { rows: 200, bytes: 128 * 1024 }
/** A reader who takes nothing for so long has gone, or holds what others wait for. */
const restMs = 30_000

/**
 * The audit log as lines of JSON, from one row on to the row that was the last when it began. Rows are read as fast as
 * they are taken, a page at a time and each in a transaction of its own: rows are never changed, so the pages of
 * different moments are one log. Who was cut off goes on behind the last whole line.
 *
 * @param judgeAgain throws when the credential has ended, which a long export outlives otherwise.
 * @throws {Refusal} as long as nothing is sent; afterwards the connection breaks off.
 */
export async function exportAuditLogs(
  { db, auditExports }: { db: Db; auditExports: Exports },
  principal: VendorPrincipal,
  afterSeq: number,
  judgeAgain: () => Promise<void>,
): Promise<Readable> {
  let lines: Readable | null = null
  const cut = () => void lines?.destroy()
  const place = auditExports.begin(principal.workspaceId, cut)
  try {
    const source = { db, principal, judgeAgain }
    const [last, first] = await db.inWorkspace(principal.workspaceId, tx =>
      Promise.all([readHead(tx), readExportPage(tx, principal.reach, afterSeq, pageMost)]),
    )
    const rest = setTimeout(cut, restMs)
    const taken = (line: string) => {
      rest.refresh()
      place.took(line.length)
    }
    lines = Readable.from(linesOf(source, first, last, taken), { objectMode: false })
    lines.once('close', () => {
      clearTimeout(rest)
      place.end()
    })
    return lines
  } catch (error) {
    place.end()
    throw error
  }
}

interface Source {
  readonly db: Db
  readonly principal: VendorPrincipal
  readonly judgeAgain: () => Promise<void>
}

async function* linesOf(
  { db, principal, judgeAgain }: Source,
  first: AuditRow[],
  last: number,
  taken: (line: string) => void,
): AsyncGenerator<string> {
  const { workspaceId, reach } = principal
  for (let rows = first; rows.length > 0; ) {
    let after = 0
    for (const row of rows) {
      if (row.seq > last) return
      after = row.seq
      const line = `${JSON.stringify(toAuditLog(workspaceId, principal, row))}\n`
      yield line
      taken(line)
    }
    if (after >= last) return
    await judgeAgain()
    rows = await db
      .until(performance.now() + deadlineMs)
      .inWorkspace(workspaceId, tx => readExportPage(tx, reach, after, pageMost))
  }
}

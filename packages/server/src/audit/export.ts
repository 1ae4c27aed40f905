import { Readable } from 'node:stream'
import type { Caller } from '../gate/caller.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import type { Db } from '../platform/db/db.ts'
import type { Exports } from './exports.ts'
import { toAuditLog } from './resource.ts'
import { type AuditRow, readExportPage, readHead } from './sql.ts'

/** The limits of a page, whichever is reached first: an export keeps one page in memory while its reader does not read. */
const pageMost = { rows: 200, bytes: 128 * 1024 }
/** A reader that takes nothing for this long is disconnected. */
const restMs = 30_000

/**
 * The audit log as lines of JSON, from a given row to the last row at the start of the export. Pages are read as fast as the
 * client takes them, each in a separate transaction; rows never change, so the pages form one consistent log. A client
 * that was cut off can continue after its last complete line.
 *
 * @param judgeAgain throws when the credential has ended, which a long export could outlive. It gives the next page a full
 *   request budget.
 * @throws {Refusal} until the first byte is sent; after that the connection breaks off.
 */
export async function exportAuditLogs(
  { deps: { auditExports }, db, principal }: Caller<{ auditExports: Exports }>,
  afterSeq: number,
  judgeAgain: () => Promise<void>,
): Promise<Readable> {
  let lines: Readable | null = null
  const cut = () => void lines?.destroy()
  const place = auditExports.begin(principal.workspaceId, principal.id ?? principal.kind, cut)
  try {
    const source = { db, principal, judgeAgain }
    const [last, first] = await db.readAtOnce(principal.workspaceId, tx =>
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
    rows = await db.readAtOnce(workspaceId, tx => readExportPage(tx, reach, after, pageMost))
  }
}

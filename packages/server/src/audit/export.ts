import { Readable } from 'node:stream'
import type { Deps } from '../deps.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import { deadlineMs } from '../platform/db/deadline.ts'
import type { Db } from '../platform/db/pool.ts'
import { toAuditLog } from './resource.ts'
import { type AuditRow, listAuditRows, readHead } from './sql.ts'

/** Rows a page: about 300 kB of text. */
const pageRows = 500

/**
 * The audit log as lines of JSON, from one row on to the row that was the last when it began. Rows are read as fast as
 * they are taken, a page at a time and each in a transaction of its own: rows are never changed, so the pages of
 * different moments are one log. Who was cut off goes on behind the last whole line.
 *
 * @throws {Refusal} as long as nothing is sent; afterwards the connection breaks off.
 */
export async function exportAuditLogs(
  { db }: Pick<Deps, 'db'>,
  principal: VendorPrincipal,
  afterSeq: number,
): Promise<Readable> {
  const source = { db, principal }
  const [last, first] = await db.inWorkspace(principal.workspaceId, tx =>
    Promise.all([readHead(tx), listAuditRows(tx, principal.reach, afterSeq, pageRows)]),
  )
  return Readable.from(pages(source, first, last), { objectMode: false })
}

interface Source {
  readonly db: Db
  readonly principal: VendorPrincipal
}

async function* pages(source: Source, first: AuditRow[], last: number): AsyncGenerator<string> {
  const { db, principal } = source
  const { workspaceId, reach } = principal
  for (let rows = first; ; ) {
    // One more than a page says that there is another.
    const page = rows.slice(0, pageRows).filter(({ seq }) => seq <= last)
    if (page.length > 0)
      yield page.map(row => `${JSON.stringify(toAuditLog(workspaceId, principal, row))}\n`).join('')
    const after = page.at(-1)?.seq
    if (rows.length <= pageRows || after === undefined || after >= last) return
    rows = await db
      .until(performance.now() + deadlineMs)
      .inWorkspace(workspaceId, tx => listAuditRows(tx, reach, after, pageRows))
  }
}

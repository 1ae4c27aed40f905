import { Readable } from 'node:stream'
import type { VendorPrincipal } from '../gate/principal.ts'
import { deadlineMs } from '../platform/db/deadline.ts'
import type { Db } from '../platform/db/pool.ts'
import { Refusal } from '../platform/refusal.ts'
import { toAuditLog } from './resource.ts'
import { type AuditRow, readExportPage, readHead } from './sql.ts'

/** Of a page, whichever comes first: what an export holds in memory while its reader takes a rest. */
const pageMost = { rows: 200, bytes: 128 * 1024 }
/** Exports of one process, and of one workspace among them. */
const exportsMax = 16
const exportsOfWorkspaceMax = 4
/** A reader who takes nothing for so long has gone, or holds what others wait for. */
const restMs = 30_000

/** Who exports at the moment, by workspace. */
export class Exports {
  readonly #underWay = new Map<string, number>()
  #all = 0

  /**
   * @returns a function that ends it.
   * @throws {Refusal} `too_many_requests`.
   */
  begin(workspaceId: string): () => void {
    const own = this.#underWay.get(workspaceId) ?? 0
    if (this.#all >= exportsMax || own >= exportsOfWorkspaceMax)
      throw new Refusal('too_many_requests', 'Other exports are under way; try again in a moment.', {
        headers: { 'retry-after': '5' },
      })
    this.#all += 1
    this.#underWay.set(workspaceId, own + 1)
    return () => {
      this.#all -= 1
      const left = (this.#underWay.get(workspaceId) ?? 1) - 1
      if (left === 0) this.#underWay.delete(workspaceId)
      else this.#underWay.set(workspaceId, left)
    }
  }
}

/**
 * The audit log as lines of JSON, from one row on to the row that was the last when it began. Rows are read as fast as
 * they are taken, a page at a time and each in a transaction of its own: rows are never changed, so the pages of
 * different moments are one log. Who was cut off goes on behind the last whole line.
 *
 * @throws {Refusal} as long as nothing is sent; afterwards the connection breaks off.
 */
export async function exportAuditLogs(
  { db, auditExports }: { db: Db; auditExports: Exports },
  principal: VendorPrincipal,
  afterSeq: number,
): Promise<Readable> {
  const end = auditExports.begin(principal.workspaceId)
  try {
    const source = { db, principal }
    const [last, first] = await db.inWorkspace(principal.workspaceId, tx =>
      Promise.all([readHead(tx), readExportPage(tx, principal.reach, afterSeq, pageMost)]),
    )
    const rest = setTimeout(() => lines.destroy(), restMs)
    const lines = Readable.from(
      linesOf(source, first, last, () => rest.refresh()),
      { objectMode: false },
    )
    lines.once('close', () => {
      clearTimeout(rest)
      end()
    })
    return lines
  } catch (error) {
    end()
    throw error
  }
}

interface Source {
  readonly db: Db
  readonly principal: VendorPrincipal
}

async function* linesOf(
  { db, principal }: Source,
  first: AuditRow[],
  last: number,
  taken: () => void,
): AsyncGenerator<string> {
  const { workspaceId, reach } = principal
  for (let rows = first; rows.length > 0; ) {
    let after = 0
    for (const row of rows) {
      if (row.seq > last) return
      after = row.seq
      yield `${JSON.stringify(toAuditLog(workspaceId, principal, row))}\n`
      taken()
    }
    if (after >= last) return
    rows = await db
      .until(performance.now() + deadlineMs)
      .inWorkspace(workspaceId, tx => readExportPage(tx, reach, after, pageMost))
  }
}

import { Readable } from 'node:stream'
import type { ExportedKey, KeyExport, KeyExportEnd } from '@keyrail/contract/vendor/imports'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import { toRateLimit } from '../keys/resource.ts'
import type { Db } from '../platform/db/db.ts'
import { iso } from '../platform/time.ts'
import { type ExportFilter, type ExportPage, type ExportRow, readExportPage } from './export-sql.ts'
import type { TransferNeeds } from './needs.ts'

/** The limits of a page, whichever is reached first: an export keeps one page in memory while its reader does not read. */
const pageMost = { rows: 200, bytes: 128 * 1024 }
/** A reader that takes nothing for this long is disconnected. */
const restMs = 30_000
const start = '00000000-0000-0000-0000-000000000000'

type Deps = Pick<TransferNeeds, 'keyExports' | 'clock' | 'randomBytes'>

/**
 * The active and paused keys as lines of JSON, with their digests, in the order of their ids. Pages are read as fast as the client
 * takes them. The audit row is committed before the first line leaves.
 * @param judgeAgain throws when the credential has ended, which a long export could outlive.
 * @throws {Refusal} until the first byte is sent; after that the connection breaks off, and the last line is missing.
 */
export async function exportKeys(
  { deps, db, principal }: Caller<Deps>,
  { cursor, project_id, env }: KeyExport,
  judgeAgain: () => Promise<void>,
): Promise<Readable> {
  let lines: Readable | null = null
  const cut = () => void lines?.destroy()
  const { workspaceId } = principal
  const place = deps.keyExports.begin(workspaceId, principal.id ?? principal.kind, cut)
  try {
    const filter = { projectId: project_id?.toLowerCase() ?? null, env: env ?? null }
    const after = cursor?.toLowerCase() ?? null
    const first = await db.inWorkspace(workspaceId, tx => {
      appendAudit(deps, tx, actorOf(principal), deps.clock.now(), [
        {
          action: 'api_key.exported',
          targetType: 'workspace',
          targetId: workspaceId,
          env: filter.env,
          payload: { project_id: filter.projectId, cursor: after },
        },
      ])
      return readExportPage(tx, after ?? start, filter, pageMost)
    })
    const rest = setTimeout(cut, restMs)
    const taken = (line: string) => {
      rest.refresh()
      place.took(line.length)
    }
    lines = Readable.from(linesOf({ db, principal, judgeAgain }, first, filter, taken), { objectMode: false })
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
  first: ExportPage,
  filter: ExportFilter,
  taken: (line: string) => void,
): AsyncGenerator<string> {
  let count = 0
  for (let page = first; ; ) {
    for (const row of page.rows) {
      count += 1
      const line = toLine(toExported(row))
      yield line
      taken(line)
    }
    const { next } = page
    if (next === null) break
    await judgeAgain()
    page = await db.readAtOnce(principal.workspaceId, tx => readExportPage(tx, next, filter, pageMost))
  }
  const end: KeyExportEnd = { object: 'export_end', count }
  yield toLine(end)
}

const toLine = (value: object) => `${JSON.stringify(value)}\n`

/** Without the members that a key does not have, so that an import takes what is left of the line. */
const toExported = (row: ExportRow): ExportedKey => ({
  object: 'exported_key',
  id: row.id,
  project_id: row.project_id,
  env: row.env,
  external_id: row.external_id,
  digest: row.digest,
  display_prefix: row.display_prefix,
  ...(row.source_id !== null && { source_id: row.source_id }),
  ...(row.name !== null && { name: row.name }),
  scopes: row.scopes,
  meta: JSON.parse(row.meta) as ExportedKey['meta'],
  ...(row.rate_limits !== null && { rate_limits: row.rate_limits.map(toRateLimit) }),
  ...(row.allowed_cidrs !== null && { allowed_cidrs: row.allowed_cidrs }),
  ...(row.expires_at !== null && { expires_at: iso(row.expires_at) }),
  created_at: iso(row.created_at),
  ...(row.disabled_at !== null && { disabled_at: iso(row.disabled_at) }),
})

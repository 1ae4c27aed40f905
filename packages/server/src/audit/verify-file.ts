import type { AuditLog } from '@keyrail/contract/vendor/audit'
import canonicalize from 'canonicalize'
import { addressPaths } from './actions.ts'
import { addressHash, type ChainFault, type ChainHead, ChainVerifier, canonicalRow } from './chain.ts'

/** What an exported log is held against, beside itself. */
export interface Expected {
  /** A head that was noted: the row with its seq must have its hash, and must be there. */
  readonly head: ChainHead | null
  /** The row before the first of the file, when that is not the first of the log. */
  readonly after: ChainHead | null
  /** Whose log it must be. */
  readonly workspaceId: string | null
}

export interface FileVerdict {
  readonly valid: boolean
  readonly workspaceId: string | null
  /** Rows of the file that hold. */
  readonly checked: number
  readonly firstBadSeq: number | null
  readonly reason: ChainFault | null
  /** The last row that holds. */
  readonly last: ChainHead | null
}

/** A file that is no exported log, or one that does not show all that was hashed. Never quotes what it holds. */
export class NoAuditLog extends Error {}

/**
 * Verifies an exported log without any service: every hash is derived again from the genesis on.
 * @param lines in the order of the file. The last may be cut off where an export was; it is then not whole JSON.
 * @throws {NoAuditLog}
 */
export async function verifyFile(lines: AsyncIterable<string>, expected: Expected): Promise<FileVerdict> {
  const { head, after } = expected
  let workspaceId = expected.workspaceId
  let verifier: ChainVerifier | null = null
  let last = after
  let checked = 0
  let number = 0
  const verdict = (fault: { seq: number; reason: ChainFault } | null): FileVerdict => ({
    valid: fault === null,
    workspaceId,
    checked,
    firstBadSeq: fault?.seq ?? null,
    reason: fault?.reason ?? null,
    last: checked === 0 ? null : last,
  })
  for await (const line of lines) {
    number += 1
    const row = readRow(line, number)
    workspaceId ??= row.workspace_id
    verifier ??= new ChainVerifier(workspaceId, after ?? undefined)
    const payload = hashedPayload(row)
    const isNoted = head !== null && row.seq === head.seq
    if (payload === null) return verdict({ seq: row.seq, reason: 'hash_mismatch' })
    const holds = verifier.take({
      seq: row.seq,
      canonical: bytesOf(canonicalOf({ ...row, workspace_id: workspaceId, payload })),
      prevHash: Buffer.from(row.prev_hash, 'hex').toString('latin1'),
      hash: Buffer.from(row.hash, 'hex').toString('latin1'),
    })
    if (!holds) return verdict(verifier.end(null).fault)
    if (isNoted && row.hash !== head.hash.toString('hex'))
      return verdict({ seq: row.seq, reason: 'head_mismatch' })
    last = { seq: row.seq, hash: Buffer.from(row.hash, 'hex') }
    checked += 1
  }
  const end = last?.seq ?? 0
  if (head !== null && head.seq > end) return verdict({ seq: end + 1, reason: 'head_mismatch' })
  return verdict(null)
}

const hex = /^[0-9a-f]{64}$/

function readRow(line: string, number: number): AuditLog & { payload: Record<string, unknown> } {
  let row: Partial<AuditLog> | null
  try {
    row = JSON.parse(line)
  } catch {
    throw new NoAuditLog(`Line ${number} is no JSON: the export was cut off there, or this is another file.`)
  }
  if (
    row?.object !== 'audit_log' ||
    typeof row.seq !== 'number' ||
    !hex.test(`${row.hash}`) ||
    !hex.test(`${row.prev_hash}`)
  )
    throw new NoAuditLog(`Line ${number} is no row of an audit log.`)
  if (row.payload === null || row.payload === undefined)
    throw new NoAuditLog(
      `Line ${number} has no payload: export the log with a live credential, which is shown all of it.`,
    )
  return row as AuditLog & { payload: Record<string, unknown> }
}

const canonicalOf = (row: AuditLog & { payload: Record<string, unknown> }): string =>
  canonicalRow({
    seq: row.seq,
    workspaceId: row.workspace_id,
    action: row.action,
    actorType: row.actor_type,
    actorId: row.actor_id,
    targetType: row.target_type,
    targetId: row.target_id,
    env: row.env,
    createdAt: row.created_at,
    payload: canonicalize(row.payload) ?? '',
  })

/** One character a byte of UTF-8, as the chain takes its texts. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1')

/** The payload as it was hashed: without the addresses that were not erased. Null where one is not that of its hash. */
function hashedPayload(row: AuditLog & { payload: Record<string, unknown> }): Record<string, unknown> | null {
  const payload = structuredClone(row.payload)
  for (const path of addressPaths[row.action] ?? []) {
    const steps = path.split('.')
    const name = steps.pop() ?? ''
    const holder = steps.reduce<unknown>(
      (at, step) => (at as Record<string, unknown> | undefined)?.[step],
      payload,
    )
    if (typeof holder !== 'object' || holder === null) continue
    const fields = holder as Record<string, unknown>
    const { [name]: address, [`${name}_hash`]: hashed, [`${name}_salt`]: salt } = fields
    if (typeof hashed !== 'string' || address === undefined) continue
    if (addressHash(Buffer.from(String(salt), 'base64'), String(address)) !== hashed) return null
    delete fields[name]
    delete fields[`${name}_salt`]
  }
  return payload
}

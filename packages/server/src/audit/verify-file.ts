import type { AuditLog } from '@keyrail/contract/vendor/audit'
import canonicalize from 'canonicalize'
import { parseJson } from '../platform/http/body/json.ts'
import { Refusal } from '../platform/refusal.ts'
import { addressPaths } from './actions.ts'
import { placeOf } from './address-place.ts'
import {
  addressHash,
  type ChainFault,
  type ChainHead,
  ChainVerifier,
  canonicalRow,
  genesisHash,
} from './chain.ts'
import { NoAuditLog } from './lines.ts'

/** External facts that an exported log must match. */
export interface Expected {
  /** A head noted earlier: the file must contain the row with its seq, with its hash. */
  readonly head: ChainHead | null
  /** The row before the first of the file, when the file does not start with the first row of the log. */
  readonly after: ChainHead | null
  /** The workspace of the log. */
  readonly workspaceId: string | null
}

export interface FileVerdict {
  readonly valid: boolean
  readonly workspaceId: string | null
  /** The number of valid rows in the file. */
  readonly checked: number
  readonly firstBadSeq: number | null
  readonly reason: ChainFault | null
  /** The last valid row. */
  readonly last: ChainHead | null
}

/**
 * Verifies an exported log offline: derives every hash again, from the genesis on.
 * @param lines in the order of the file. If the export was cut off, the last line is not valid JSON.
 * @throws {NoAuditLog}
 */
export async function verifyFile(lines: AsyncIterable<Buffer>, expected: Expected): Promise<FileVerdict> {
  const { head, after } = expected
  const begins = after?.seq ?? 0
  if (head !== null && head.seq < begins)
    throw new NoAuditLog(`The file begins after the noted head, which is at seq ${head.seq}.`)
  if (head !== null && after !== null && head.seq === begins && !head.hash.equals(after.hash))
    throw new NoAuditLog(
      `The noted head and the given row before the first have different hashes for seq ${begins}.`,
    )
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
    if (verifier === null && head?.seq === 0 && !head.hash.equals(genesisHash(workspaceId)))
      return verdict({ seq: 1, reason: 'head_mismatch' })
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

type Row = AuditLog & { payload: Record<string, unknown> }

/** The nesting of a payload, plus the row around it. */
const rowDepthMax = 48
const hex = /^[0-9a-f]{64}$/

const isText = (value: unknown): value is string => typeof value === 'string'
const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value)
const isHash = (value: unknown): value is string => isText(value) && hex.test(value)
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The type of every hashed member: a value that another program could read differently is rejected. */
const shape: Partial<Record<keyof AuditLog, (value: unknown) => boolean>> = {
  object: value => value === 'audit_log',
  seq: value => Number.isSafeInteger(value) && (value as number) > 0,
  workspace_id: isText,
  action: isText,
  actor_type: isText,
  actor_id: isTextOrNull,
  target_type: isText,
  target_id: isText,
  env: isTextOrNull,
  created_at: isText,
  prev_hash: isHash,
  hash: isHash,
}

function readRow(line: Buffer, number: number): Row {
  const row = readJson(line, number)
  const isRow = isObject(row) && Object.entries(shape).every(([name, holds]) => holds(row[name]))
  if (!isRow) throw new NoAuditLog(`Line ${number} is not a row of an audit log.`)
  if (!isObject(row.payload))
    throw new NoAuditLog(
      `Line ${number} has no payload: export the log with a live credential, which includes all payloads.`,
    )
  return row as unknown as Row
}

/** As strict as for request bodies: no duplicate names, nothing that another parser could read differently. */
function readJson(line: Buffer, number: number): unknown {
  try {
    return parseJson(line, rowDepthMax)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new NoAuditLog(
      error.detail === 'The body is not well-formed JSON.'
        ? `Line ${number} is not JSON: the export was cut off there, or this is another file.`
        : `Line ${number} is not JSON as the service writes it.`,
    )
  }
}

const canonicalOf = (row: Row): string =>
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

/** One character per byte of UTF-8, as the chain takes its texts. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1')

/** The payload as it was hashed, without the addresses. Null when an address does not match its hash. */
function hashedPayload(row: Row): Record<string, unknown> | null {
  const payload = structuredClone(row.payload)
  const paths = Object.hasOwn(addressPaths, row.action) ? addressPaths[row.action] : undefined
  for (const path of paths ?? []) {
    const place = placeOf(payload, path)
    if (place === null) continue
    const { holder: fields, name } = place
    const { [name]: address, [`${name}_hash`]: hashed, [`${name}_salt`]: salt } = fields
    if (typeof hashed !== 'string' || address === undefined) continue
    if (!isText(salt) || !isText(address)) return null
    if (addressHash(Buffer.from(salt, 'base64'), address) !== hashed) return null
    delete fields[name]
    delete fields[`${name}_salt`]
  }
  return payload
}

import { createHash } from 'node:crypto'

/**
 * A verifier of audit chains, written from `audit-verification.md` alone: it imports nothing of the service, so that
 * the two can check each other. Use it as a start for yours.
 */

/** A row as `GET /v1/audit_logs` returns it. */
export interface Row {
  seq: number
  action: string
  actor_type: string
  actor_id: string | null
  target_type: string
  target_id: string
  env: string | null
  created_at: string
  payload: { [name: string]: unknown } | null
  prev_hash: string
  hash: string
}

export interface Head {
  seq: number
  hash: string
}

export interface Verdict {
  valid: boolean
  checked: number
  first_bad_seq: number | null
  reason: 'hash_mismatch' | 'gap' | 'head_mismatch' | null
}

const domain = 'keyrail-audit-v1\n'

const addressPaths: { [action: string]: string[] | undefined } = {
  'workspace.created': ['billing_email'],
  'workspace.updated': ['billing_email.old', 'billing_email.new'],
  'workspace_member.joined': ['email', 'invited_email'],
  'workspace_member.role_changed': ['email'],
  'workspace_member.removed': ['email'],
  'workspace_invite.created': ['email'],
  'workspace_invite.revoked': ['email'],
}

/** Verifies a whole chain: every row from the first, in rising order of `seq`, and the head. */
export function verify(workspaceId: string, rows: readonly Row[], head: Head | null): Verdict {
  let checked = 0
  let hash = genesis(workspaceId)
  const bad = (first_bad_seq: number, reason: Verdict['reason']) => ({
    valid: false,
    checked,
    first_bad_seq,
    reason,
  })
  for (const row of rows) {
    if (row.seq !== checked + 1) return bad(checked + 1, 'gap')
    const { payload, holds } = withoutAddresses(row)
    const next = sha256(domain, Buffer.from(hash, 'hex'), canonicalRow(workspaceId, { ...row, payload }))
    if (row.prev_hash !== hash || row.hash !== next || !holds) return bad(row.seq, 'hash_mismatch')
    checked = row.seq
    hash = next
  }
  if (head?.seq === checked && head.hash === hash) {
    return { valid: true, checked, first_bad_seq: null, reason: null }
  }
  if (head?.seq === checked) return bad(checked, 'head_mismatch')
  return bad(Math.min(head?.seq ?? checked, checked) + 1, 'head_mismatch')
}

export const genesis = (workspaceId: string): string => sha256(domain, workspaceId)

/** The text whose UTF-8 bytes are hashed. */
export const canonicalRow = (workspaceId: string, row: Omit<Row, 'prev_hash' | 'hash'>): string =>
  canonical({
    action: row.action,
    actor_id: row.actor_id,
    actor_type: row.actor_type,
    created_at: row.created_at,
    env: row.env,
    payload: row.payload,
    seq: row.seq,
    target_id: row.target_id,
    target_type: row.target_type,
    workspace_id: workspaceId,
  })

/** RFC 8785. `JSON.stringify` writes strings and numbers in its form, `sort` compares UTF-16 code units. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`).join(',')}}`
}

/** The payload as it was hashed, and whether its addresses match their hashes. */
function withoutAddresses(row: Row): { payload: Row['payload']; holds: boolean } {
  const payload = structuredClone(row.payload)
  let holds = true
  for (const path of addressPaths[row.action] ?? []) {
    const steps = path.split('.')
    const name = steps.pop() ?? ''
    // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape, of a log that may have been tampered with.
    const holder = steps.reduce<any>((at, step) => at?.[step], payload)
    if (typeof holder?.[`${name}_hash`] !== 'string' || holder[name] === undefined) continue
    const salt = Buffer.from(String(holder[`${name}_salt`]), 'base64')
    holds &&= sha256(salt, String(holder[name])) === holder[`${name}_hash`]
    delete holder[name]
    delete holder[`${name}_salt`]
  }
  return { payload, holds }
}

function sha256(...pieces: (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}

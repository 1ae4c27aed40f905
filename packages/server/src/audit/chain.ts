import { hash } from 'node:crypto'

/**
 * The hash chain, as pure functions: the bytes that are hashed, and how each hash covers the one before.
 * `docs/audit-verification.md` describes it well enough to implement it again.
 */
export const domain = 'keyrail-audit-v1\n'

/** A row as it is hashed. `payload` is its RFC 8785 form, byte for byte. */
export interface ChainRow {
  seq: number
  workspaceId: string
  action: string
  actorType: string
  actorId: string | null
  targetType: string
  targetId: string
  env: string | null
  /** RFC 3339, UTC, milliseconds. */
  createdAt: string
  payload: string
}

/** Text that needs no escaping in JSON. `JSON.stringify` takes three times as long for it. */
const plain = /^[A-Za-z0-9_.:-]*$/
const text = (value: string | null) =>
  value === null ? 'null' : plain.test(value) ? `"${value}"` : JSON.stringify(value)

/** RFC 8785 form of a row: members sorted by name, no white space. */
export function canonicalRow(row: ChainRow): string {
  return (
    `{"action":${text(row.action)},"actor_id":${text(row.actorId)},"actor_type":${text(row.actorType)},` +
    `"created_at":${text(row.createdAt)},"env":${text(row.env)},"payload":${row.payload},"seq":${row.seq},` +
    `"target_id":${text(row.targetId)},"target_type":${text(row.targetType)},"workspace_id":${text(row.workspaceId)}}`
  )
}

/** The hash before the first row. It contains the workspace's id, so that a chain cannot be moved to another workspace. */
export const genesisHash = (workspaceId: string): Buffer => hash('sha256', domain + workspaceId, 'buffer')

export const nextHash = (previous: Uint8Array, canonical: string): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(domain), previous, Buffer.from(canonical)]), 'buffer')

/** SHA-256 of 16 salt bytes and the UTF-8 address, in hex: the only personal data in the chain. */
export const addressHash = (salt: Uint8Array, address: string): string =>
  hash('sha256', Buffer.concat([salt, Buffer.from(address)]), 'hex')

export type ChainFault = 'hash_mismatch' | 'gap' | 'head_mismatch'

export interface ChainHead {
  seq: number
  hash: Buffer
}

/** The state of a verification after the rows so far. */
export interface Verified {
  checked: number
  fault: { seq: number; reason: ChainFault } | null
}

/**
 * A row to verify. Its texts and hashes have one character per byte of UTF-8 (`latin1`): a million rows as Buffers would be
 * millions of small allocations that the garbage collector frees late.
 */
export interface Link {
  seq: number
  canonical: string
  prevHash: string
  hash: string
}

/** Takes rows in rising order of `seq` and stops at the first fault. */
export class ChainVerifier {
  #checked = 0
  #hash: string
  #fault: Verified['fault'] = null
  /** Scratch space for the bytes to hash. */
  #scratch = Buffer.from(domain)

  /** @param from where to continue, when all earlier rows are verified; the genesis by default. */
  constructor(workspaceId: string, from: ChainHead = { seq: 0, hash: genesisHash(workspaceId) }) {
    this.#checked = from.seq
    this.#hash = from.hash.toString('latin1')
  }

  /** The number of rows so far, up to the first fault. */
  get checked(): number {
    return this.#checked
  }

  /** @returns whether the chain is still valid. */
  take(link: Link): boolean {
    if (this.#fault !== null) return false
    const expected = this.#checked + 1
    if (link.seq !== expected) return this.#fail(expected, 'gap')
    const hashed = this.#next(link.canonical)
    if (this.#hash !== link.prevHash || hashed !== link.hash) return this.#fail(link.seq, 'hash_mismatch')
    this.#checked = link.seq
    this.#hash = hashed
    return true
  }

  /** Reports a side row whose address does not match the hash in the chain. */
  refuse(seq: number): void {
    if (this.#fault === null || seq < this.#fault.seq) {
      this.#fault = { seq, reason: 'hash_mismatch' }
      this.#checked = Math.min(this.#checked, seq - 1)
    }
  }

  /** @param head the head that the chain claims; null when it is missing. A truncated chain is found here. */
  end(head: ChainHead | null): Verified {
    const ends = head !== null && head.seq === this.#checked
    if (this.#fault === null && !(ends && head.hash.toString('latin1') === this.#hash)) {
      const behind = head !== null && head.seq < this.#checked
      this.#fault = {
        seq: ends ? head.seq : behind ? head.seq + 1 : this.#checked + 1,
        reason: 'head_mismatch',
      }
    }
    return { checked: this.#checked, fault: this.#fault }
  }

  #next(canonical: string): string {
    const size = domain.length + hashBytes + canonical.length
    if (this.#scratch.length < size) this.#scratch = Buffer.concat([Buffer.from(domain)], size * 2)
    const scratch = this.#scratch
    const start = domain.length + scratch.write(this.#hash, domain.length, 'latin1')
    const end = start + scratch.write(canonical, start, 'latin1')
    return hash('sha256', scratch.subarray(0, end), 'binary')
  }

  #fail(seq: number, reason: ChainFault): false {
    this.#fault = { seq, reason }
    return false
  }
}

const hashBytes = 32

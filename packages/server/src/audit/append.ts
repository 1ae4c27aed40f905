import type { Env } from '@keyrail/contract/shared'
import type { AuditAction, AuditTarget, actorTypes } from '@keyrail/contract/vendor/audit'
import canonicalize from 'canonicalize'
import type { Deps } from '../deps.ts'
import type { Principal } from '../gate/principal.ts'
import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { addressPaths } from './actions.ts'
import { placeOf } from './address-place.ts'
import { addressHash, genesisHash } from './chain.ts'

export type ActorType = (typeof actorTypes)[number]

export interface Actor {
  type: ActorType
  id: string | null
}

export const actorOf = (principal: Principal): Actor => ({
  type: principal.kind === 'session' ? 'user' : principal.kind,
  id: principal.id,
})

/** One change, as the log tells it. `payload` holds JSON values; addresses stand where `addressPaths` says. */
export interface Entry {
  action: AuditAction
  targetType: AuditTarget
  targetId: string
  env: Env | null
  payload: Record<string, unknown>
}

const appendRows = sql('audit.append', `select audit_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`)

/**
 * Adds rows to the workspace's chain, in the transaction of the change they tell of: the two are written
 * together or not at all. It travels with the commit, so the head's lock is the last that is taken and is
 * held for no round trip.
 * @param at when the change was made, milliseconds since 1970.
 */
export function appendAudit(
  { randomBytes }: Pick<Deps, 'randomBytes'>,
  tx: Tx,
  actor: Actor,
  at: number,
  entries: readonly Entry[],
): void {
  const addresses: Address[] = []
  const payloads = entries.map((entry, index) => {
    const payload = structuredClone(entry.payload)
    for (const path of addressPaths[entry.action] ?? []) {
      const found = takeAddress(payload, path, randomBytes(16))
      if (found !== null) addresses.push({ row: index + 1, path, ...found })
    }
    return canonicalize(payload) ?? '{}'
  })
  tx.sendLast(appendRows, [
    tx.workspaceId,
    actor.type,
    actor.id,
    new Date(at),
    entries.map(entry => entry.action),
    entries.map(entry => entry.targetType),
    entries.map(entry => entry.targetId),
    entries.map(entry => entry.env),
    payloads,
    addresses.length === 0 ? null : JSON.stringify(addresses),
  ])
}

const insertHead = sql(
  'audit.open_chain',
  'insert into audit_heads (workspace_id, seq, hash) values ($1, 0, $2)',
)

/** Begins the chain of a new workspace. */
export const openChain = (tx: Tx) => tx.send(insertHead, [tx.workspaceId, genesisHash(tx.workspaceId)])

/** A side row, naming its audit row by its place in the batch: the seq is not known before the lock. */
interface Address {
  row: number
  path: string
  address: string
  salt: string
}

/** Puts the hash of an address where the address stood. Null where the payload names none. */
function takeAddress(payload: Record<string, unknown>, path: string, salt: Buffer) {
  const place = placeOf(payload, path)
  if (place === null) return null
  const { holder: fields, name } = place
  const address = fields[name]
  if (typeof address !== 'string') return null
  delete fields[name]
  fields[`${name}_hash`] = addressHash(salt, address)
  return { address, salt: salt.toString('base64') }
}

import type { Env } from '@keyrail/contract/shared'
import type { AuditAction, AuditTarget, actorTypes } from '@keyrail/contract/vendor/audit'
import canonicalize from 'canonicalize'
import type { Principal } from '../gate/principal.ts'
import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { addressPaths } from './actions.ts'
import { placeOf } from './address-place.ts'
import { addressHash, genesisHash } from './chain.ts'

type ActorType = (typeof actorTypes)[number]

export interface Actor {
  type: ActorType
  id: string | null
}

export const actorOf = ({ kind, id }: Pick<Principal, 'kind' | 'id'>): Actor => ({ type: typeOf(kind), id })

const typeOf = <Kind extends string>(kind: Kind) =>
  kind === 'session' ? ('user' as const) : (kind as Exclude<Kind, 'session'>)

/** The address of the actor; null for an actor that did not send the request, such as the maker of a key that ends now. */
function addressOf({ sender }: Tx, { type, id }: Actor): string | null {
  if (sender === undefined || sender.ip === '') return null
  return typeOf(sender.kind) === type && sender.id === id ? sender.ip : null
}

/** One change for the audit log. `payload` has JSON values; addresses are at the paths in `addressPaths`. */
export interface Entry {
  action: AuditAction
  targetType: AuditTarget
  targetId: string
  env: Env | null
  payload: Record<string, unknown>
}

const appendRows = sql('audit.append', `select audit_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`)

/**
 * Appends rows to the workspace's chain, in the transaction of the change, so that both commit or neither does. The statement
 * is sent together with COMMIT: the lock on the head is the last one taken and is held for no round trip. The statement also
 * writes the caller's address, one row for all appended rows.
 * @param at time of the change, milliseconds since 1970.
 */
export function appendAudit(
  { randomBytes }: { readonly randomBytes: (size: number) => Buffer },
  tx: Tx,
  actor: Actor,
  at: number,
  entries: readonly Entry[],
): void {
  const addresses: Address[] = []
  const payloads = entries.map((entry, index) => {
    const paths = addressPaths[entry.action] ?? []
    // The caller's payload stays as it is; most actions have nothing to take out of it.
    const payload = paths.length === 0 ? entry.payload : structuredClone(entry.payload)
    for (const path of paths) {
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
    addressOf(tx, actor),
  ])
}

const insertHead = sql(
  'audit.open_chain',
  'insert into audit_heads (workspace_id, seq, hash) values ($1, 0, $2)',
)

/** Starts the chain of a new workspace. */
export const openChain = (tx: Tx) => tx.send(insertHead, [tx.workspaceId, genesisHash(tx.workspaceId)])

/** A side row. It refers to its audit row by the index in the batch, since the seq is unknown before the lock. */
interface Address {
  row: number
  path: string
  address: string
  salt: string
}

/** Replaces an address in the payload by its hash. Null when the payload has no address there. */
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

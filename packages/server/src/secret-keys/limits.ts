import { type Permission, permissions, presets } from '@keyrail/contract/vendor/permissions'
import type { SecretKeyCreate } from '@keyrail/contract/vendor/secret-keys'
import type { KeyLimits } from '../gate/principal.ts'
import type { Tx } from '../platform/db/transaction.ts'
import {
  isWithin,
  type Network,
  networkText,
  readNetwork,
  readStoredNetworks,
} from '../platform/network/cidr.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import type { StoredLimits } from './issue.ts'
import { countLivingProjects } from './sql.ts'

export type AskedLimits = Pick<SecretKeyCreate, 'permissions' | 'preset' | 'project_ids' | 'allowed_cidrs'>

/**
 * What is stored of the limits that a body asks for: a preset as what it stands for, ids in lower case, ranges in their
 * canonical form. Whether the projects exist is for the caller to ask.
 * @throws {Refusal} `validation_failed`, naming the range that is none.
 */
export function readLimits(body: AskedLimits): StoredLimits {
  if (body.permissions !== undefined && body.preset !== undefined) {
    throw invalidField('preset', 'stands in place of permissions, and cannot be given beside them')
  }
  const given: readonly Permission[] | undefined =
    body.preset === undefined ? body.permissions : presets[body.preset]
  return {
    permissions: given === undefined ? null : permissions.filter(one => given.includes(one)),
    project_ids:
      body.project_ids === undefined ? null : [...new Set(body.project_ids.map(id => id.toLowerCase()))],
    allowed_cidrs: body.allowed_cidrs === undefined ? null : readCidrs(body.allowed_cidrs),
  }
}

function readCidrs(texts: readonly string[]): string[] {
  const found = texts.map((text, i) => {
    const network = readNetwork(text)
    if (typeof network === 'string') throw invalidField(`allowed_cidrs.${i}`, network)
    return networkText(network)
  })
  return [...new Set(found)]
}

/** Whether all are projects of the workspace. One that is deleted or of elsewhere is as one that nobody has. */
export const areProjectsThere = async (tx: Tx, ids: readonly string[] | null): Promise<boolean> =>
  ids === null || (await countLivingProjects(tx, ids)) === ids.length

/**
 * Refuses to give away more than the maker has: each limit of the maker is one of the key, at least as narrow.
 * @throws {Refusal} `insufficient_permission`, naming the permission; `not_found`, of a project beyond the maker's, as
 * of one that nobody has.
 */
export function assertNoMoreThan(maker: KeyLimits, key: StoredLimits): void {
  assertPermissions(maker.permissions, key.permissions)
  assertProjects(maker.projectIds, key.project_ids)
  assertNetworks(maker.networks, key.allowed_cidrs)
}

function assertPermissions(own: KeyLimits['permissions'], wanted: readonly Permission[] | null): void {
  if (own === null) return
  if (wanted === null) {
    throw tooMuch('A secret key with permissions gives a key some of its own: name them in permissions.')
  }
  const missing = wanted.find(one => !own.has(one))
  if (missing !== undefined) {
    throw tooMuch(`The secret key lacks the permission ${missing}, so it cannot give it.`)
  }
}

function assertProjects(own: KeyLimits['projectIds'], wanted: readonly string[] | null): void {
  if (own === null) return
  if (wanted === null) {
    throw new Refusal(
      'whole_workspace_required',
      'A secret key that is bound to projects makes keys for some of these: name them in project_ids.',
    )
  }
  if (!wanted.every(id => own.includes(id))) throw new Refusal('not_found')
}

function assertNetworks(own: readonly Network[] | null, wanted: readonly string[] | null): void {
  if (own === null) return
  const isNarrower =
    wanted !== null &&
    readStoredNetworks(wanted).every(network => own.some(outer => isWithin(network, outer)))
  if (isNarrower) return
  throw tooMuch(
    'A secret key with allowed_cidrs makes keys with ranges that are each within one of its own: name them in allowed_cidrs.',
  )
}

const tooMuch = (detail: string) => new Refusal('insufficient_permission', detail)

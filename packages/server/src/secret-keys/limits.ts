import { type Permission, permissions, presets } from '@keyrail/contract/vendor/permissions'
import type { SecretKeyCreate } from '@keyrail/contract/vendor/secret-keys'
import type { KeyLimits } from '../gate/principal.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { isWithin, type Network, readStoredNetworks } from '../platform/network/cidr.ts'
import { readNetworks } from '../platform/network/read-networks.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import type { StoredLimits } from './issue.ts'
import { countLivingProjects } from './sql.ts'

export type AskedLimits = Pick<SecretKeyCreate, 'permissions' | 'preset' | 'project_ids' | 'allowed_cidrs'>

/**
 * Normalises the limits that a body names: a preset becomes its permissions, ids become lower case, ranges get their
 * canonical form. The caller checks that the projects exist.
 * @throws {Refusal} `validation_failed`, naming the invalid range.
 */
export function readLimits(body: AskedLimits): StoredLimits {
  if (body.permissions !== undefined && body.preset !== undefined) {
    throw invalidField('preset', 'cannot be combined with permissions')
  }
  const given: readonly Permission[] | undefined =
    body.preset === undefined ? body.permissions : presets[body.preset]
  return {
    permissions: given === undefined ? null : permissions.filter(one => given.includes(one)),
    project_ids:
      body.project_ids === undefined ? null : [...new Set(body.project_ids.map(id => id.toLowerCase()))],
    allowed_cidrs: body.allowed_cidrs === undefined ? null : readNetworks(body.allowed_cidrs),
  }
}

/** Whether all ids are projects of the workspace. Deleted and foreign projects count as missing. */
export const areProjectsThere = async (tx: Tx, ids: readonly string[] | null): Promise<boolean> =>
  ids === null || (await countLivingProjects(tx, ids)) === ids.length

/**
 * Refuses a key with more access than its creator: every limit of the creator must be on the new key, at least as narrow.
 * @throws {Refusal} `insufficient_permission`, naming the permission; `not_found` for a project that the creator is not bound
 * to, as for a missing project.
 */
export function assertNoMoreThan(maker: KeyLimits, key: StoredLimits): void {
  assertPermissions(maker.permissions, key.permissions)
  assertProjects(maker.projectIds, key.project_ids)
  assertNetworks(maker.networks, key.allowed_cidrs)
}

function assertPermissions(own: KeyLimits['permissions'], wanted: readonly Permission[] | null): void {
  if (own === null) return
  if (wanted === null) {
    throw tooMuch(
      'A secret key with permissions can only create keys with permissions that it has. List them in permissions.',
    )
  }
  const missing = wanted.find(one => !own.has(one))
  if (missing !== undefined) {
    throw tooMuch(`The secret key cannot grant the permission ${missing}, because it does not have it.`)
  }
}

function assertProjects(own: KeyLimits['projectIds'], wanted: readonly string[] | null): void {
  if (own === null) return
  if (wanted === null) {
    throw new Refusal(
      'whole_workspace_required',
      'A secret key with project_ids can only create keys for some of its projects. List them in project_ids.',
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
    'A secret key with allowed_cidrs can only create keys with ranges inside its own. List them in allowed_cidrs.',
  )
}

const tooMuch = (detail: string) => new Refusal('insufficient_permission', detail)

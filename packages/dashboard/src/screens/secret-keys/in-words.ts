import type { Member } from '@keyrail/contract/vendor/members'
import { type Permission, presets } from '@keyrail/contract/vendor/permissions'
import type { SecretKey } from '@keyrail/contract/vendor/secret-keys'

/** What a key may do, in a few words. */
export function rightsOf(
  { permissions, project_ids }: Pick<SecretKey, 'permissions' | 'project_ids'>,
  projectName: (id: string) => string,
): string {
  const where =
    project_ids === null
      ? ''
      : project_ids.length === 1
        ? `, in ${project_ids.map(projectName)}`
        : `, in ${project_ids.length} projects`
  return `${actionsOf(permissions)}${where}`
}

function actionsOf(given: readonly Permission[] | null): string {
  if (given === null) return 'All of its role'
  if (isSame(given, presets.node)) return 'Verify keys'
  if (isSame(given, olderNode)) return 'Verify keys with the SDK'
  if (isSame(given, presets.embed)) return 'Mint embed tokens'
  return given.length === 1 ? String(given[0]) : `${given.length} permissions`
}

/** The preset `node` before keys could be verified by HTTP. Keys keep the permissions that they were made with. */
const olderNode = presets.node.filter(permission => permission !== 'keys:verify')

const isSame = (one: readonly Permission[], other: readonly Permission[]) =>
  one.length === other.length && other.every(permission => one.includes(permission))

export const titleOf = ({ name, display_prefix }: Pick<SecretKey, 'name' | 'display_prefix'>): string =>
  name ?? `${display_prefix}…`

/** Who made a key: a name where the page knows one. */
export function makerOf(
  { created_by: { type, id } }: Pick<SecretKey, 'created_by'>,
  myId: string,
  members: readonly Pick<Member, 'user_id' | 'name' | 'email'>[],
  keys: readonly Pick<SecretKey, 'id' | 'name' | 'display_prefix'>[],
): string {
  if (type === 'bootstrap') return 'Bootstrap token'
  if (type === 'operator') return 'Operator'
  if (type === 'user') {
    if (id === myId) return 'You'
    const member = members.find(({ user_id }) => user_id === id)
    return member?.name ?? member?.email ?? 'A former member'
  }
  const key = keys.find(one => one.id === id)
  return key === undefined ? 'Another secret key' : `Secret key ${titleOf(key)}`
}

export function standingOf(
  { revoked_at, expires_at, rotated_to }: Pick<SecretKey, 'revoked_at' | 'expires_at' | 'rotated_to'>,
  now: number,
): 'Active' | 'Rotated' | 'Expired' | 'Revoked' {
  if (revoked_at !== null) return 'Revoked'
  if (expires_at !== null && Date.parse(expires_at) <= now) return 'Expired'
  return rotated_to === null ? 'Active' : 'Rotated'
}

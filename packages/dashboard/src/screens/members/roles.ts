import type { Role } from '@keyrail/contract/shared'

/** In falling order. */
export const roleChoices: { value: Role; label: string }[] = [
  { value: 'owner', label: 'Owner' },
  { value: 'admin', label: 'Admin' },
  { value: 'member', label: 'Member' },
]

export const roleName: Record<Role, string> = { owner: 'Owner', admin: 'Admin', member: 'Member' }

/** What the role may do, after "An owner", "An admin" or "A member". */
export const roleRights: Record<Role, string> = {
  owner: 'An owner can do everything, and decides about people.',
  admin: 'An admin changes projects, tenants and keys, and no people.',
  member: 'A member sees everything and changes nothing.',
}

/** The right to change something is lost on the way from one to the other. */
export const isDemotion = (from: Role, to: Role): boolean => rank(to) > rank(from)

const rank = (role: Role) => roleChoices.findIndex(({ value }) => value === role)

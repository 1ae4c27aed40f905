import type { Permission } from '@keyrail/contract/vendor/permissions'

/** What a secret key with a permission may do, in the order of the form. */
export const permissionWords: Record<Permission, string> = {
  'policy:read': 'Follow the feed: hashes, scopes, limits and expiry of keys',
  'policy:labels': 'See names, and the metadata of tenants, in the feed and in verdicts',
  'keys:verify': 'Verify keys by HTTP',
  'ratelimit:check': 'Charge rate limits',
  'idempotency:use': 'Execute a request once',
  'usage:report': 'Report how often keys are used',
  'usage:read': 'Read usage and billable tenants',
  'embed:mint': 'Mint embed tokens for pages of your customers',
  'keys:read': 'List, read and identify keys',
  'keys:write': 'Create, change, rotate and revoke keys',
  'keys:import': 'Import keys by their hashes, and create tenants for them',
  'tenants:read': 'List and read tenants',
  'tenants:write': 'Create, change and delete tenants, and end their embed sessions',
  'projects:read': 'List and read projects, and the servers that hold their keys',
  'projects:write': 'Create, change and delete projects',
  'workspace:read': 'Read the settings of the workspace',
  'workspace:write': 'Change the settings of the workspace',
  'members:read': 'List members and invitations',
  'members:write': 'Remove members and revoke invitations, with the role of an owner',
  'secret_keys:read': 'List and read secret keys',
  'secret_keys:write': 'Create, rename, rotate and revoke secret keys, with no more rights than its own',
  'audit:read': 'Read, export and verify the audit log',
  'overview:read': 'Read the figures of the overview',
}

const all = Object.keys(permissionWords) as Permission[]

/** Those of a list, in the order of the form. */
export const inOrder = (given: readonly Permission[]): Permission[] => all.filter(one => given.includes(one))

import { Refusal } from '../platform/refusal.ts'

/** A deletion of a project or a tenant revokes all of its keys, which nothing undoes. */
export function assertUnprotected(parent: { readonly delete_protection: boolean } | null): void {
  if (parent?.delete_protection === true)
    throw new Refusal('protected', 'Set its delete_protection to false before you delete it.')
}

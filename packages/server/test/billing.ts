import type { Query } from './people.ts'

/** Gives a workspace a billing address whose mailbox was proved, without a letter. */
export const makeBilling = (query: Query, workspaceId: string, address: string) =>
  query(
    `update workspaces set billing_email = $2, billing_verified_hash = sha256(convert_to($2, 'UTF8')) where id = $1`,
    [workspaceId, address],
  )

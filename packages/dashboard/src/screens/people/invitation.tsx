import type { IdentifiedInvite } from '@keyrail/contract/people'
import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { identifyInvite } from '../../api/people.ts'
import { linkToken } from '../../link-token.ts'

/** The role, in a sentence about a person. */
export const roleInWords = { owner: 'an owner', admin: 'an admin', member: 'a member' } as const

/** What the letter says. Reading it does not use the link up, so it needs no click. */
export const useInvitation = () =>
  useQuery({
    queryKey: ['invitation'],
    queryFn: ({ signal }) => identifyInvite({ body: { token: linkToken ?? '' } }, { signal }),
    enabled: linkToken !== null,
    // The link of a page stays the same, and is used up once it was accepted.
    staleTime: Number.POSITIVE_INFINITY,
  })

/** @param invitation undefined: it is being read. */
export function InvitationInWords({ invitation }: { readonly invitation: IdentifiedInvite | undefined }) {
  if (invitation === undefined) {
    return (
      <span aria-busy="true">
        <Skeleton component="span" display="block" height={18} mb={6} />
        <Skeleton component="span" display="block" height={18} width="60%" />
      </span>
    )
  }
  const { email, role, workspace_name, invited_by } = invitation
  return (
    <>
      {invited_by === null ? (
        'A secret key of the workspace'
      ) : invited_by.name === null ? (
        <strong>{invited_by.email}</strong>
      ) : (
        <>
          <strong>{invited_by.name}</strong> ({invited_by.email})
        </>
      )}{' '}
      invites you, {email}, to {workspace_name === null ? 'a workspace' : <strong>{workspace_name}</strong>}{' '}
      as {roleInWords[role]}.
    </>
  )
}

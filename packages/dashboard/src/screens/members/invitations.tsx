import type { CreatedInvite, Invite } from '@keyrail/contract/vendor/invites'
import { Badge, Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { createInvite, listInvites, revokeInvite } from '../../api/invites.ts'
import { Address } from '../../components/address.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Empty } from '../../components/empty.tsx'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { OnPhone } from '../../components/on-phone.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useList } from '../../components/use-list.ts'
import { useOnce } from '../../components/use-once.ts'
import { useReported } from '../../components/use-reported.ts'
import { useHasRole } from '../../session/me.ts'
import classes from './members.module.css'
import { roleName } from './roles.ts'

const statusName: Record<Invite['status'], string> = {
  pending: 'Pending',
  accepted: 'Accepted',
  revoked: 'Revoked',
  expired: 'Expired',
}

/** Invitations and what became of them. A new one for the same address ends the one before. */
export function Invitations({ onInvited }: { onInvited: (invite: CreatedInvite) => void }) {
  const client = useQueryClient()
  const isOwner = useHasRole('owner')
  const list = useList('invites', listInvites, {})
  const [revoked, setRevoked] = useState<Invite | null>(null)
  const [sendingId, setSendingId] = useState<string | null>(null)
  const refresh = () => client.invalidateQueries({ queryKey: ['invites'] })
  const once = useOnce()
  const resend = useReported(async ({ id, email, role }: Invite) => {
    setSendingId(id)
    try {
      const invite = await once(createInvite, { email, role }, () => ({ body: { email, role } }))
      await refresh()
      onInvited(invite)
    } finally {
      setSendingId(null)
    }
  })
  const columns: Column<Invite>[] = [
    { header: 'Address', cell: ({ email }) => <Address text={email} />, sortBy: ({ email }) => email },
    { header: 'Role', cell: ({ role }) => roleName[role], from: 'sm' },
    {
      header: 'Status',
      cell: ({ status }) => <Status of={status} />,
      ...(isOwner && { from: 'sm' }),
    },
    {
      header: 'Sent',
      cell: ({ created_at }) => <RelativeTime at={created_at} />,
      from: 'md',
      sortBy: ({ created_at }) => created_at,
    },
    {
      header: 'Ends',
      cell: ({ expires_at }) => <RelativeTime at={expires_at} />,
      from: 'sm',
      sortBy: ({ expires_at }) => expires_at,
    },
  ]
  const changing: Column<Invite> = {
    header: 'Change',
    cell: invite => (
      <>
        <OnPhone>
          <Status of={invite.status} />
        </OnPhone>
        {invite.status === 'accepted' ? null : (
          <div className={classes.changes}>
            <Button
              variant="default"
              size="compact-sm"
              aria-label={`Resend the invitation for ${invite.email}`}
              loading={sendingId === invite.id}
              onClick={() => resend(invite)}
            >
              Resend
            </Button>
            {invite.status === 'pending' ? (
              <Button
                variant="default"
                size="compact-sm"
                aria-label={`Revoke the invitation for ${invite.email}`}
                onClick={() => setRevoked(invite)}
              >
                Revoke
              </Button>
            ) : null}
          </div>
        )}
      </>
    ),
  }
  return (
    <>
      <ListTable
        label="Who was invited"
        list={list}
        rowsWaiting={2}
        idOf={({ id }) => id}
        columns={isOwner ? [...columns, changing] : columns}
        empty={
          <Empty title="No invitations">
            {isOwner ? 'Choose “Invite person” and type an address.' : 'An owner invites people.'}
          </Empty>
        }
      />
      {revoked === null ? null : (
        <ConfirmDialog
          isOpen
          title={`Revoke the invitation for ${revoked.email}`}
          action="Revoke invitation"
          isFinal
          onClose={() => setRevoked(null)}
          onConfirm={async () => {
            await revokeInvite({ id: revoked.id })
            await refresh()
          }}
        >
          <p>The link in the e-mail and the link that you copied stop working at once.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

const Status = ({ of: status }: { readonly of: Invite['status'] }) => (
  <Badge miw="max-content" variant={status === 'pending' ? 'light' : 'default'}>
    {statusName[status]}
  </Badge>
)

import type { Role } from '@keyrail/contract/shared'
import type { Member } from '@keyrail/contract/vendor/members'
import { Anchor, Badge, Button, NativeSelect } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { listMembers } from '../../api/members.ts'
import { Address } from '../../components/address.tsx'
import { Clip } from '../../components/clip.tsx'
import { Empty } from '../../components/empty.tsx'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { OnPhone } from '../../components/on-phone.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useList } from '../../components/use-list.ts'
import { useHasRole, useMe } from '../../session/me.ts'
import { ChangeRole } from './change-role.tsx'
import classes from './members.module.css'
import { type Leftover, personOf } from './person.ts'
import { RemoveMember } from './remove-member.tsx'
import { roleChoices, roleName } from './roles.ts'

/** Who is in the workspace. Only an owner changes it. */
export function Roster({ onLeftover }: { onLeftover: (leftover: Leftover) => void }) {
  const me = useMe()
  const isOwner = useHasRole('owner')
  const list = useList('members', listMembers, {})
  const [change, setChange] = useState<{ member: Member; role: Role } | null>(null)
  const [removed, setRemoved] = useState<Member | null>(null)
  const removeOf = (member: Member) =>
    member.user_id === me.id ? (
      <Anchor renderRoot={props => <Link to="/account" {...props} />}>Leave</Anchor>
    ) : (
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`Remove ${personOf(member)}`}
        onClick={() => setRemoved(member)}
      >
        Remove
      </Button>
    )
  const columns: Column<Member>[] = [
    {
      header: 'Person',
      isTall: true,
      sortBy: ({ name, email }) => name ?? email,
      cell: member => (
        <>
          <span className={classes.name}>
            {member.name === null ? <Address text={member.email} /> : <Clip text={member.name} />}
            {member.user_id === me.id ? <Badge variant="light">You</Badge> : null}
          </span>
          {member.name === null ? null : (
            <span className={classes.address}>
              <Address text={member.email} />
            </span>
          )}
        </>
      ),
    },
    {
      header: 'Role',
      sortBy: ({ role }) => roleName[role],
      cell: member =>
        isOwner ? (
          <>
            <NativeSelect
              size="xs"
              w={104}
              aria-label={`Role of ${personOf(member)}`}
              data={roleChoices}
              value={member.role}
              onChange={event => setChange({ member, role: event.currentTarget.value as Role })}
            />
            <OnPhone>{removeOf(member)}</OnPhone>
          </>
        ) : (
          roleName[member.role]
        ),
    },
    {
      header: 'Joined',
      cell: ({ joined_at }) => <RelativeTime at={joined_at} />,
      from: 'sm',
      sortBy: ({ joined_at }) => joined_at,
    },
  ]
  const changing: Column<Member> = { header: 'Change', cell: removeOf, from: 'sm' }
  return (
    <>
      <ListTable
        label="Members"
        list={list}
        rowsWaiting={2}
        idOf={({ user_id }) => user_id}
        columns={isOwner ? [...columns, changing] : columns}
        empty={<Empty title="No members">A secret key runs this workspace. Its owner invites people.</Empty>}
      />
      <ChangeRole change={change} onClose={() => setChange(null)} onLeftover={onLeftover} />
      <RemoveMember member={removed} onClose={() => setRemoved(null)} onLeftover={onLeftover} />
    </>
  )
}

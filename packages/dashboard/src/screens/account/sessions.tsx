import type { Session } from '@keyrail/contract/people'
import { Badge, Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { endOneSession, endOtherSessions, listSessions } from '../../api/people.ts'
import { browserOf } from '../../components/browser-names.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Empty } from '../../components/empty.tsx'
import { counted } from '../../components/figures.ts'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { rowsOf, useList } from '../../components/use-list.ts'
import { useReported } from '../../components/use-reported.ts'

export function Sessions() {
  const client = useQueryClient()
  const list = useList('sessions', listSessions, {})
  const end = useReported(async (id: string) => {
    await endOneSession({ id })
    await client.invalidateQueries({ queryKey: ['sessions'] })
  })
  const [isAsking, setAsking] = useState(false)
  const endAll = async () => {
    const { ended } = await endOtherSessions()
    await client.invalidateQueries({ queryKey: ['sessions'] })
    notifications.show({ message: `${counted(ended, 'other session')} ended. This one goes on.` })
  }
  const columns: Column<Session>[] = [
    {
      header: 'Browser',
      cell: ({ user_agent, current }) => (
        <>
          {browserOf(user_agent)} {current ? <Badge variant="light">This one</Badge> : null}
        </>
      ),
    },
    { header: 'IP address', cell: ({ ip }) => ip ?? 'Unknown', from: 'sm' },
    { header: 'Last seen', cell: ({ last_seen_at }) => <RelativeTime at={last_seen_at} /> },
    { header: 'Ends', cell: ({ expires_at }) => <RelativeTime at={expires_at} />, from: 'sm' },
    {
      header: 'Change',
      cell: ({ id, current, user_agent }) =>
        current ? null : (
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`End the session of ${browserOf(user_agent)}`}
            onClick={() => end(id)}
          >
            End
          </Button>
        ),
    },
  ]
  return (
    <>
      <ListTable
        label="Your sessions"
        list={list}
        rowsWaiting={2}
        idOf={({ id }) => id}
        columns={columns}
        empty={<Empty title="No sessions" />}
      />
      {rowsOf(list).length < 2 ? null : (
        <Button variant="default" mt="md" onClick={() => setAsking(true)}>
          End all other sessions
        </Button>
      )}
      <ConfirmDialog
        isOpen={isAsking}
        title="End all other sessions"
        action="End sessions"
        onClose={() => setAsking(false)}
        onConfirm={endAll}
      >
        You are signed out at once in every other browser and program, also in those that this page has not
        loaded yet. This session goes on, and your password stays the same.
      </ConfirmDialog>
    </>
  )
}

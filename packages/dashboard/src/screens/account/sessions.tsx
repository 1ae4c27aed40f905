import type { Session } from '@keyrail/contract/people'
import { Badge, Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { endOtherSession, listSessions } from '../../api/people.ts'
import { readAll } from '../../api/read-all.ts'
import { browserOf } from '../../components/browser-names.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Empty } from '../../components/empty.tsx'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { rowsOf, useList } from '../../components/use-list.ts'
import { useReported } from '../../components/use-reported.ts'

export function Sessions() {
  const client = useQueryClient()
  const list = useList('sessions', listSessions, {})
  const end = useReported(async (id: string) => {
    await endOtherSession({ id })
    await client.invalidateQueries({ queryKey: ['sessions'] })
  })
  const [isAsking, setAsking] = useState(false)
  const endAll = async () => {
    try {
      for (const { id, current } of await readAll(cursor => listSessions({ query: { limit: 200, cursor } })))
        if (!current) await endOtherSession({ id })
    } finally {
      await client.invalidateQueries({ queryKey: ['sessions'] })
    }
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
      {rowsOf(list).length < 3 ? null : (
        <Button variant="default" mt="md" onClick={() => setAsking(true)}>
          End all others
        </Button>
      )}
      <ConfirmDialog
        isOpen={isAsking}
        title="End all other sessions"
        action="End sessions"
        onClose={() => setAsking(false)}
        onConfirm={endAll}
      >
        You are signed out everywhere else, in each browser of the list. This one goes on.
      </ConfirmDialog>
    </>
  )
}

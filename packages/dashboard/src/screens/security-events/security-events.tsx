import type { SecurityEvent } from '@keyrail/contract/security-events'
import { useNavigate } from '@tanstack/react-router'
import { listOwnSecurityEvents, listSecurityEvents } from '../../api/security-events.ts'
import { browserOf } from '../../components/browser-names.ts'
import { timesOf } from '../../components/days.ts'
import { Empty } from '../../components/empty.tsx'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { OnPhone } from '../../components/on-phone.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { TwoLines } from '../../components/two-lines.tsx'
import { type List, useList } from '../../components/use-list.ts'
import { usePeople } from '../../components/use-people.ts'
import { useHasRole, useMe } from '../../session/me.ts'
import { EventFilters } from './event-filters.tsx'
import { securityEventsRoute } from './routes.ts'
import { detailOf, eventWords } from './words.ts'

/** Events of the workspace for an owner, and those of their own account for each person. */
export function SecurityEvents() {
  const isOwner = useHasRole('owner')
  const { of } = securityEventsRoute.useSearch()
  const showsOwn = !isOwner || of === 'me'
  return (
    <PageFrame
      title="Security events"
      lead={
        isOwner
          ? 'Sign-ins, refusals and changes of accounts, newest first. They are kept for 90 days.'
          : 'What happened to your account, newest first, for 90 days. An owner also sees the events of the workspace.'
      }
    >
      <EventFilters isOwner={isOwner} showsOwn={showsOwn} />
      {showsOwn ? <OwnEvents /> : <WorkspaceEvents />}
    </PageFrame>
  )
}

/** The filters that both lists have, as the API names them. */
function useWanted() {
  const { kind, ...days } = securityEventsRoute.useSearch()
  return { kind, ...timesOf(days) }
}

function WorkspaceEvents() {
  const { user_id } = securityEventsRoute.useSearch()
  const wanted = { ...useWanted(), user_id }
  return <Events list={useList('security-events', listSecurityEvents, wanted)} filters={wanted} />
}

function OwnEvents() {
  const wanted = useWanted()
  return <Events list={useList('own-security-events', listOwnSecurityEvents, wanted)} filters={wanted} />
}

function Events({ list, filters }: { list: List<SecurityEvent>; filters: object }) {
  const me = useMe()
  const navigate = useNavigate({ from: securityEventsRoute.fullPath })
  const { data: people } = usePeople()
  const personOf = ({ user_id, actor_type }: SecurityEvent) => {
    if (user_id === me.id) return 'You'
    if (user_id === null) return actor_type === 'secret_key' ? 'A secret key' : 'Unknown'
    const person = people.find(one => one.user_id === user_id)
    return person?.name ?? person?.email ?? 'A former member'
  }
  const columns: Column<SecurityEvent>[] = [
    {
      header: 'Event',
      cell: event => (
        <>
          <TwoLines
            first={
              event.count > 1 ? `${eventWords[event.kind]}, ${event.count} times` : eventWords[event.kind]
            }
            second={detailOf(event) ?? ''}
          />
          <OnPhone>{personOf(event)}</OnPhone>
        </>
      ),
      isTall: true,
    },
    { header: 'Person', cell: personOf, from: 'sm' },
    {
      header: 'From',
      cell: ({ ip, user_agent }) =>
        ip === null ? 'Not shown' : <TwoLines first={ip} second={browserOf(user_agent)} />,
      from: 'md',
    },
    { header: 'When', cell: ({ last_at }) => <RelativeTime at={last_at} /> },
  ]
  const isFiltered = Object.values(filters).some(filter => filter !== undefined)
  return (
    <ListTable
      label="Security events"
      list={list}
      idOf={({ id }) => id}
      columns={columns}
      isEndless
      empty={<Empty title="No events yet">A sign-in or a refused request adds one.</Empty>}
      onClearFilters={
        isFiltered ? () => void navigate({ search: ({ env, of }) => ({ env, of }) }) : undefined
      }
    />
  )
}

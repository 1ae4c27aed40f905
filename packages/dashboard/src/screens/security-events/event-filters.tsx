import { NativeSelect } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { DayFields } from '../../components/day-fields.tsx'
import { usePeople } from '../../components/use-people.ts'
import { type EventSearch, securityEventsRoute } from './routes.ts'
import classes from './security-events.module.css'
import { eventWords, isKind } from './words.ts'

const kinds = Object.entries(eventWords).map(([value, label]) => ({ value, label }))

/** The filters of the list, all of them in the address. */
export function EventFilters({ isOwner, showsOwn }: { isOwner: boolean; showsOwn: boolean }) {
  const { kind, user_id, from, to } = securityEventsRoute.useSearch()
  const navigate = useNavigate({ from: securityEventsRoute.fullPath })
  const { data: people } = usePeople(isOwner)
  const set = (change: EventSearch) => void navigate({ search: now => ({ ...now, ...change }) })
  return (
    <div className={classes.filters}>
      {isOwner ? (
        <NativeSelect
          label="Events of"
          data={[
            { value: '', label: 'The workspace' },
            { value: 'me', label: 'My account' },
          ]}
          value={showsOwn ? 'me' : ''}
          onChange={({ currentTarget: { value } }) =>
            set({ of: value === 'me' ? 'me' : undefined, user_id: undefined })
          }
        />
      ) : null}
      <NativeSelect
        label="Kind"
        data={[{ value: '', label: 'All' }, ...kinds]}
        value={kind ?? ''}
        onChange={({ currentTarget: { value } }) => set({ kind: isKind(value) ? value : undefined })}
      />
      {showsOwn ? null : (
        <NativeSelect
          label="Person"
          data={[
            { value: '', label: 'All' },
            ...people.map(({ user_id, name, email }) => ({ value: user_id, label: name ?? email })),
          ]}
          value={user_id ?? ''}
          onChange={({ currentTarget: { value } }) => set({ user_id: value || undefined })}
        />
      )}
      <DayFields days={{ from, to }} onChange={set} />
    </div>
  )
}

import { NativeSelect } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { DayFields } from '../../components/day-fields.tsx'
import { useEnv } from '../../shell/shell-route.tsx'
import classes from './filters.module.css'
import { ActorFilter, TargetFilter } from './id-filters.tsx'
import { auditRoute } from './routes.ts'
import { actionWords, isAction } from './words.ts'

const actions = Object.entries(actionWords).map(([value, label]) => ({ value, label }))
const environments = [
  { value: 'all', label: 'All' },
  { value: 'live', label: 'Live' },
  { value: 'test', label: 'Test' },
]

/** The filters of the log, all of them in the address. Test is the environment that the whole page shows. */
export function Filters() {
  const { action, actor_id, target_id, rows, from, to } = auditRoute.useSearch()
  const env = useEnv()
  const navigate = useNavigate({ from: auditRoute.fullPath })
  return (
    <div className={classes.filters}>
      <NativeSelect
        label="Action"
        data={[{ value: '', label: 'All' }, ...actions]}
        value={action ?? ''}
        onChange={({ currentTarget: { value } }) =>
          void navigate({ search: now => ({ ...now, action: isAction(value) ? value : undefined }) })
        }
      />
      <NativeSelect
        label="Environment"
        data={environments}
        value={env === 'test' ? 'test' : (rows ?? 'all')}
        onChange={({ currentTarget: { value } }) =>
          void navigate({
            search: now => ({
              ...now,
              env: value === 'test' ? 'test' : undefined,
              rows: value === 'live' ? 'live' : undefined,
            }),
          })
        }
      />
      <ActorFilter
        key={`actor ${actor_id}`}
        value={actor_id ?? ''}
        onChange={id => void navigate({ search: now => ({ ...now, actor_id: id }) })}
      />
      <TargetFilter
        key={`target ${target_id}`}
        value={target_id ?? ''}
        onChange={id => void navigate({ search: now => ({ ...now, target_id: id }) })}
      />
      <DayFields
        days={{ from, to }}
        onChange={change => void navigate({ search: now => ({ ...now, ...change }) })}
      />
    </div>
  )
}

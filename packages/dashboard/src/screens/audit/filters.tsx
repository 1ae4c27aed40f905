import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useEnv } from '../../shell/shell-route.tsx'
import classes from './filters.module.css'
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
  const { action, actor_id, target_id, rows } = auditRoute.useSearch()
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
      <IdFilter
        key={`actor ${actor_id}`}
        label="Actor id"
        value={actor_id ?? ''}
        pattern={/^[A-Za-z0-9._:-]{1,128}$/}
        onChange={id => void navigate({ search: now => ({ ...now, actor_id: id }) })}
      />
      <IdFilter
        key={`target ${target_id}`}
        label="Target id"
        value={target_id ?? ''}
        pattern={/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i}
        onChange={id => void navigate({ search: now => ({ ...now, target_id: id }) })}
      />
    </div>
  )
}

interface IdFilterProps {
  readonly label: string
  readonly value: string
  readonly pattern: RegExp
  readonly onChange: (id: string | undefined) => void
}

/** An id counts when it is whole: after Enter, or when the person leaves the field. */
function IdFilter({ label, value, pattern, onChange }: IdFilterProps) {
  const [typed, setTyped] = useState(value)
  const [isFaulty, setFaulty] = useState(false)
  const apply = () => {
    const id = typed.trim()
    setFaulty(id !== '' && !pattern.test(id))
    if (id !== value && (id === '' || pattern.test(id))) onChange(id === '' ? undefined : id)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    apply()
  }
  return (
    <form onSubmit={submit} noValidate>
      <TextInput
        label={label}
        placeholder="Any"
        value={typed}
        onChange={event => setTyped(event.currentTarget.value)}
        onBlur={apply}
        error={isFaulty ? 'This is not a whole id.' : null}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        rightSectionWidth={64}
        rightSection={
          value === '' ? null : (
            <Button
              variant="subtle"
              size="compact-xs"
              aria-label={`Clear ${label}`}
              onClick={() => onChange(undefined)}
            >
              Clear
            </Button>
          )
        }
      />
    </form>
  )
}

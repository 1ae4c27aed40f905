import { SegmentedControl } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useEnv } from './shell-route.tsx'

/** Live or test. Everything on the page follows it. */
export function EnvironmentSwitch() {
  const env = useEnv()
  const navigate = useNavigate()
  return (
    <SegmentedControl
      size="xs"
      fullWidth
      aria-label="Environment"
      value={env}
      {...(env === 'test' && { color: 'amber.4' })}
      data={[
        { value: 'live', label: 'Live' },
        { value: 'test', label: 'Test' },
      ]}
      onChange={next =>
        void navigate({
          to: '.',
          search: (now: object) => ({
            ...now,
            env: next === 'test' ? ('test' as const) : undefined,
            cursor: undefined,
          }),
        })
      }
    />
  )
}

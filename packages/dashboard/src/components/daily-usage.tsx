import type { Env } from '@keyrail/contract/shared'
import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getDailyUsage } from '../api/usage.ts'
import { shownWorkspaceId } from '../session/workspace.ts'
import { Bars } from './bars.tsx'
import { dayName } from './dates.ts'
import { maybeEstimated } from './figures.ts'
import { Loaded } from './loaded.tsx'

interface DailyUsageProps {
  /** Whose requests they are. */
  readonly of: { readonly tenant_id: string } | { readonly project_id: string }
  readonly env: Env
}

const useDailyUsage = ({ of, env }: DailyUsageProps) =>
  useQuery({
    queryKey: ['usage', 'daily', shownWorkspaceId(), of, env],
    queryFn: ({ signal }) => getDailyUsage({ query: { ...of, env, days: 30 } }, { signal }),
  })

/** The requests with all keys of a tenant or project in one environment. */
export function UsageTotal(props: DailyUsageProps) {
  const usage = useDailyUsage(props)
  if (usage.isFetching && usage.data === undefined) return <Skeleton h={16} my={4} w={80} />
  // Why there is no figure stands below, where the bars are missing too.
  if (usage.data === undefined) return '–'
  const { total, estimated } = usage.data
  return `${maybeEstimated(total, estimated)} in ${props.env}, 30 days`
}

/** The same requests, a bar a day. */
export function UsageDays(props: DailyUsageProps) {
  const usage = useDailyUsage(props)
  return (
    <Loaded query={usage} skeleton={<Skeleton h={190} radius="lg" />}>
      {({ data }) => (
        <Bars
          label="Requests a day"
          bars={data.map(({ date, request_count }) => ({ name: dayName(date), value: request_count }))}
        />
      )}
    </Loaded>
  )
}

import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getDailyUsage } from '../../api/usage.ts'
import { Bars } from '../../components/bars.tsx'
import { dayName } from '../../components/dates.ts'
import { maybeEstimated } from '../../components/figures.ts'
import { Loaded } from '../../components/loaded.tsx'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { useEnv } from '../../shell/shell-route.tsx'

function useUsage(tenantId: string) {
  const env = useEnv()
  const usage = useQuery({
    queryKey: ['usage', 'tenant', shownWorkspaceId(), tenantId, env],
    queryFn: ({ signal }) => getDailyUsage({ query: { tenant_id: tenantId, env, days: 30 } }, { signal }),
  })
  return { env, usage }
}

/** The requests with all keys of a tenant in the environment that the page shows. */
export function TenantUsage({ tenantId }: { tenantId: string }) {
  const { env, usage } = useUsage(tenantId)
  if (usage.isFetching && usage.data === undefined) return <Skeleton h={16} my={4} w={80} />
  // Why there is no figure stands below, where the bars are missing too.
  if (usage.data === undefined) return '–'
  const { total, estimated } = usage.data
  return `${maybeEstimated(total, estimated)} in ${env}, 30 days`
}

/** The same requests, a bar a day. */
export function TenantDays({ tenantId }: { tenantId: string }) {
  const { usage } = useUsage(tenantId)
  return (
    <Loaded query={usage} skeleton={<Skeleton h={144} />}>
      {({ data }) => (
        <Bars
          label="Requests a day"
          bars={data.map(({ date, request_count }) => ({ name: dayName(date), value: request_count }))}
        />
      )}
    </Loaded>
  )
}

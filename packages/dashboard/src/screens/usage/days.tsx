import { SegmentedControl, Skeleton } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { getKeyUsage } from '../../api/keys.ts'
import { getDailyUsage } from '../../api/usage.ts'
import { Bars } from '../../components/bars.tsx'
import { dayName } from '../../components/dates.ts'
import { maybeEstimated } from '../../components/figures.ts'
import { Loaded } from '../../components/loaded.tsx'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { NamedChoice } from '../keys/named-choice.tsx'
import { type UsageSearch, usageRoute } from './routes.ts'
import classes from './usage.module.css'

/** The requests of each day: of the workspace, a project, a tenant, a tenant in a project, or a key. */
export function Days() {
  const env = useEnv()
  const { project, tenant, key, days = 30 } = usageRoute.useSearch()
  const navigate = useNavigate({ from: usageRoute.fullPath })
  const filter = (change: UsageSearch) => void navigate({ search: now => ({ ...now, ...change }) })
  const of = { env, project_id: project, tenant_id: tenant }
  const usage = useQuery({
    queryKey: ['usage', 'days', shownWorkspaceId(), of, key, days],
    queryFn: async ({ signal }) =>
      key === undefined
        ? await getDailyUsage({ query: { ...of, days } }, { signal })
        : await getKeyUsage({ id: key, query: { days } }, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <div className={classes.filters}>
        <SegmentedControl
          size="xs"
          aria-label="Days"
          value={String(days)}
          onChange={next => filter({ days: next === '90' ? 90 : undefined })}
          data={[
            { value: '30', label: '30 days' },
            { value: '90', label: '90 days' },
          ]}
        />
        {/* A key has one project and one tenant, so a change of these leaves it. */}
        <NamedChoice
          noun="project"
          isFilter
          value={project ?? null}
          onChange={id => filter({ project: id ?? undefined, key: undefined })}
        />
        <NamedChoice
          noun="tenant"
          isFilter
          value={tenant ?? null}
          onChange={id => filter({ tenant: id ?? undefined, key: undefined })}
        />
        <NamedChoice
          noun="key"
          isFilter
          within={of}
          value={key ?? null}
          onChange={id => filter({ key: id ?? undefined })}
        />
      </div>
      <Loaded query={usage} skeleton={<Skeleton h={222} radius="lg" />}>
        {({ total, estimated, data }) => (
          <>
            <p className={classes.total}>
              {maybeEstimated(total, estimated)} {total === 1 ? 'request' : 'requests'} in {data.length} days
            </p>
            <Bars
              label="Requests a day"
              bars={data.map(({ date, request_count }) => ({ name: dayName(date), value: request_count }))}
            />
          </>
        )}
      </Loaded>
    </>
  )
}

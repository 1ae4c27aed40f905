import type { Overview as Figures } from '@keyrail/contract/vendor/overview'
import { Button, SimpleGrid, Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { getOverview } from '../../api/overview.ts'
import { Bars } from '../../components/bars.tsx'
import { dayName } from '../../components/dates.ts'
import { Empty } from '../../components/empty.tsx'
import { FigureTile } from '../../components/figure-tile.tsx'
import { figure, maybeEstimated, shortFigure } from '../../components/figures.ts'
import { Loaded } from '../../components/loaded.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { Section } from '../../components/section.tsx'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { Attention } from './attention.tsx'
import { LastChanges } from './last-changes.tsx'
import classes from './overview.module.css'
import { Refused } from './refused.tsx'
import { Tops } from './tops.tsx'

export function Overview() {
  const env = useEnv()
  const query = useQuery({
    queryKey: ['overview', shownWorkspaceId(), env],
    queryFn: ({ signal }) => getOverview({ query: { env } }, { signal }),
  })
  return (
    <PageFrame title="Overview">
      <Loaded query={query} skeleton={<Waiting />}>
        {figures => <Answered figures={figures} />}
      </Loaded>
      <div className={classes.last}>
        <Section title="Last changes">
          <LastChanges />
        </Section>
      </div>
    </PageFrame>
  )
}

const Waiting = () => (
  <Stack gap="lg">
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="md">
      {['keys', 'requests', 'nodes', 'tenants'].map(name => (
        <Skeleton key={name} h={106} radius="lg" />
      ))}
    </SimpleGrid>
    <Skeleton h={230} radius="lg" />
    <Skeleton h={260} radius="lg" />
    <Skeleton h={120} radius="lg" />
  </Stack>
)

function Answered({ figures }: { figures: Figures }) {
  const { active_keys, requests, nodes, billable_tenants, env } = figures
  return (
    <>
      <dl className={classes.figures}>
        <FigureTile
          label="Active keys"
          value={capped(active_keys.count, active_keys.capped)}
          note={`in ${env}`}
        />
        <FigureTile
          label="Requests"
          value={maybeEstimated(requests.total, requests.estimated, shortFigure)}
          whole={figure(requests.total)}
          note={`in ${requests.days} days`}
        />
        <FigureTile
          label="Nodes current"
          value={`${figure(nodes.current)} of ${capped(nodes.live, nodes.capped)}`}
          note={nodesNote(nodes)}
        />
        <FigureTile
          label="Billable tenants"
          value={figure(billable_tenants)}
          note={env === 'test' ? 'this month, live only' : 'this month so far'}
        />
      </dl>
      {active_keys.count === 0 && requests.total === 0 ? (
        <div className={classes.first}>
          <Empty title={`No keys in the ${env} environment yet`}>
            <p>Create a project, a tenant and a key, and connect your API.</p>
            <Button renderRoot={props => <Link to="/get-started" {...props} />}>Get started</Button>
          </Empty>
        </div>
      ) : (
        <>
          <Section title={`Requests a day, ${requests.days} days`}>
            <Bars
              label="Requests a day"
              bars={requests.data.map(({ date, request_count }) => ({
                name: dayName(date),
                value: request_count,
              }))}
            />
          </Section>
          <Tops env={env} />
          <Refused env={env} days={requests.days} />
        </>
      )}
      <Section title="Needs attention">
        <Attention attention={figures.needs_attention} />
      </Section>
    </>
  )
}

const nodesNote = ({ current, live }: Figures['nodes']) => {
  if (live === 0) return 'none connected'
  return current === live ? 'with the newest keys' : `${figure(live - current)} behind`
}

const capped = (count: number, isCapped: boolean) => `${figure(count)}${isCapped ? '+' : ''}`

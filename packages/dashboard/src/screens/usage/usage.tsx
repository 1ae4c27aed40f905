import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getBillingUsage } from '../../api/usage.ts'
import { Bars } from '../../components/bars.tsx'
import { monthName } from '../../components/dates.ts'
import { Loaded } from '../../components/loaded.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { Section } from '../../components/section.tsx'
import { shownWorkspaceId } from '../../session/workspace.ts'
import { Days } from './days.tsx'
import { Requests } from './requests.tsx'

const monthsShown = 12

export function Usage() {
  const billing = useQuery({
    queryKey: ['usage', 'billing', shownWorkspaceId()],
    queryFn: ({ signal }) => getBillingUsage({ query: { months: monthsShown } }, { signal }),
  })
  return (
    <PageFrame title="Usage">
      <Section title="Requests a day" lead="As your servers report them, by UTC day.">
        <Days />
      </Section>
      <Section
        title="Billable tenants"
        lead="Tenants with a live request in the month. Test requests are not billed."
      >
        <Loaded query={billing} skeleton={<Skeleton h={190} radius="lg" />}>
          {({ data }) => (
            <Bars
              label="Billable tenants a month"
              bars={data.map(({ month, billable_tenants }) => ({
                name: monthName(month),
                value: billable_tenants,
              }))}
            />
          )}
        </Loaded>
      </Section>
      <Section
        title="Requests of a month"
        lead="What your servers reported, by tenant, project and environment. ≈ marks an estimate, from a server that counts a sample."
      >
        <Requests />
      </Section>
    </PageFrame>
  )
}

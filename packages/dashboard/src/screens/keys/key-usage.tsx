import { SegmentedControl, Skeleton } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { getKeyUsage } from '../../api/keys.ts'
import { Bars } from '../../components/bars.tsx'
import { dayName } from '../../components/dates.ts'
import { maybeEstimated } from '../../components/figures.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/section.tsx'
import classes from './key-usage.module.css'

/** Requests with one key, a bar a day. */
export function KeyUsageSection({ id }: { readonly id: string }) {
  const [days, setDays] = useState(30)
  const usage = useQuery({
    queryKey: ['usage', 'key', id, days],
    queryFn: ({ signal }) => getKeyUsage({ id, query: { days } }, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <Section title="Requests" lead="As your nodes report them, by UTC day.">
      <SegmentedControl
        size="xs"
        mb="md"
        aria-label="Days"
        value={String(days)}
        onChange={next => setDays(Number(next))}
        data={[
          { value: '30', label: '30 days' },
          { value: '90', label: '90 days' },
        ]}
      />
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
    </Section>
  )
}

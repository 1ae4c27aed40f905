import type { Env } from '@keyrail/contract/shared'
import type { RefusalReason } from '@keyrail/contract/usage'
import type { KeyStatus } from '@keyrail/contract/vendor/keys'
import type { Refusals } from '@keyrail/contract/vendor/usage'
import { Anchor, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { getRefusals } from '../../api/usage.ts'
import { figure, shortFigure } from '../../components/figures.ts'
import { Loaded } from '../../components/loaded.tsx'
import { refusalWords } from '../../components/refusal-words.ts'
import { Section } from '../../components/section.tsx'
import { shownWorkspaceId } from '../../session/workspace.ts'
import classes from './overview.module.css'

/** The keys that may be meant. */
const statusOf: { readonly [Reason in RefusalReason]?: KeyStatus } = {
  revoked_key: 'revoked',
  disabled_key: 'disabled',
  expired_key: 'expired',
}

/** What the nodes have refused, by reason. */
export function Refused({ env, days }: { env: Env; days: number }) {
  const query = useQuery({
    queryKey: ['usage', 'refusals', shownWorkspaceId(), env, days],
    queryFn: ({ signal }) => getRefusals({ query: { env, days } }, { signal }),
  })
  return (
    <div className={classes.refused}>
      <Section title={`Refused requests, ${days} days`}>
        <Loaded query={query} skeleton={<Skeleton className={classes.reasons} radius="lg" />}>
          {refusals => <Reasons refusals={refusals} />}
        </Loaded>
      </Section>
    </div>
  )
}

const Reasons = ({ refusals: { data } }: { refusals: Refusals }) =>
  data.length === 0 ? (
    <p className={`${classes.reasons} ${classes.quiet}`}>No node has reported a refused request.</p>
  ) : (
    <dl className={classes.reasons}>
      {data.map(({ reason, count }) => (
        <div key={reason}>
          <dt className={classes.label}>
            <Reason reason={reason} />
          </dt>
          <dd className={classes.times} title={figure(count)}>
            {shortFigure(count)}
          </dd>
        </div>
      ))}
    </dl>
  )

function Reason({ reason }: { reason: RefusalReason }) {
  const status = statusOf[reason]
  if (status === undefined) return refusalWords[reason]
  return (
    <Anchor
      underline="always"
      inherit
      renderRoot={props => <Link to="/keys" search={(now: object) => ({ ...now, status })} {...props} />}
    >
      {refusalWords[reason]}
    </Anchor>
  )
}

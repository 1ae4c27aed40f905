import type { Env } from '@keyrail/contract/shared'
import type { TopUsage } from '@keyrail/contract/vendor/usage'
import { Anchor, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { getTopUsage } from '../../api/usage.ts'
import { Clip } from '../../components/clip.tsx'
import { maybeEstimated } from '../../components/figures.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/section.tsx'
import { useNames } from '../../components/use-names.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import classes from './overview.module.css'

/** Who made the most requests of the last 30 days: tenants, and keys. */
export function Tops({ env }: { env: Env }) {
  return (
    <div className={classes.tops}>
      <div>
        <Section title="Top tenants, 30 days">
          <Top by="tenant" env={env} />
        </Section>
      </div>
      <div>
        <Section title="Top keys, 30 days">
          <Top by="key" env={env} />
        </Section>
      </div>
    </div>
  )
}

function Top({ by, env }: { by: 'tenant' | 'key'; env: Env }) {
  const query = useQuery({
    queryKey: ['usage', 'top', shownWorkspaceId(), by, env],
    queryFn: ({ signal }) => getTopUsage({ query: { by, env } }, { signal }),
  })
  return (
    <div className={classes.top}>
      <Loaded query={query} skeleton={<Skeleton h={170} radius="lg" />}>
        {usage => <Rows usage={usage} />}
      </Loaded>
    </div>
  )
}

function Rows({ usage: { by, exact, data } }: { usage: TopUsage }) {
  const tenantName = useNames(
    'tenants',
    data.map(({ id, key }) => key?.tenant_id ?? id),
  )
  if (data.length === 0) return <p className={classes.quiet}>No requests yet.</p>
  return (
    <>
      <ol className={classes.groups}>
        {data.map(({ id, key, request_count, estimated }) => (
          <li key={id} className={`${classes.group} ${classes.example}`}>
            <span className={classes.topName}>
              {key === null ? (
                <To to={`/tenants/${id}`}>{tenantName(id)}</To>
              ) : (
                <>
                  <To to={`/keys/${id}`}>{key.name ?? key.display_prefix}</To>
                  <span className={classes.quiet}> {tenantName(key.tenant_id)}</span>
                </>
              )}
            </span>
            <span>{maybeEstimated(request_count, estimated)}</span>
          </li>
        ))}
      </ol>
      {exact ? null : (
        <p className={classes.note}>
          {by === 'key'
            ? 'Of the newest keys of the busiest tenants; another key may have more.'
            : 'Of the busiest tenants of these months; another tenant may have more.'}
        </p>
      )}
    </>
  )
}

const To = ({ to, children }: { to: string; children: string }): ReactNode => (
  <Anchor underline="always" renderRoot={props => <Link to={to} {...props} />}>
    <Clip text={children} />
  </Anchor>
)

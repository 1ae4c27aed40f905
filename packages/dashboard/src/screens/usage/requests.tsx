import type { TenantUsage } from '@keyrail/contract/vendor/usage'
import { Anchor, Button, NativeSelect } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { Clip } from '../../components/clip.tsx'
import { monthName } from '../../components/dates.ts'
import { Empty } from '../../components/empty.tsx'
import { maybeEstimated } from '../../components/figures.ts'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { TwoLines } from '../../components/two-lines.tsx'
import { rowsOf, useList } from '../../components/use-list.ts'
import { useNames } from '../../components/use-names.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { listMonth } from './month-rows.ts'
import { monthsBefore } from './months.ts'
import { usageRoute } from './routes.ts'
import { SavedFile, useSave } from './save-month.tsx'
import classes from './usage.module.css'

/** The requests of one month, by tenant, project and environment. */
export function Requests() {
  const env = useEnv()
  const all = monthsBefore(new Date())
  const { month: asked } = usageRoute.useSearch()
  const navigate = useNavigate({ from: usageRoute.fullPath })
  const ago = Math.max(0, all.indexOf(`${asked}-01`))
  const month = all[ago] ?? ''
  const list = useList('usage', listMonth, { month, env })
  const rows = rowsOf(list)
  const tenantName = useNames(
    'tenants',
    rows.map(({ tenant_id }) => tenant_id),
  )
  const projectName = useNames(
    'projects',
    rows.map(({ project_id }) => project_id),
  )
  const { saving, save, stop } = useSave({ month, env })
  const columns: Column<TenantUsage>[] = [
    {
      header: 'Tenant and project',
      isTall: true,
      cell: ({ tenant_id, project_id }) => (
        <TwoLines
          first={<Named to={`/tenants/${tenant_id}`} name={tenantName(tenant_id)} id={tenant_id} />}
          second={<Named to={`/projects/${project_id}`} name={projectName(project_id)} id={project_id} />}
        />
      ),
    },
    { header: 'Environment', cell: row => (row.env === 'live' ? 'Live' : 'Test'), from: 'sm' },
    {
      header: 'Requests',
      cell: ({ request_count, estimated }) => maybeEstimated(request_count, estimated),
      isNumber: true,
    },
  ]
  return (
    <>
      <div className={classes.bar}>
        <NativeSelect
          label="Month"
          data={all.map(one => ({ value: one.slice(0, 7), label: monthName(one) }))}
          value={month.slice(0, 7)}
          onChange={({ currentTarget: { value } }) =>
            void navigate({
              search: now => ({ ...now, month: value === all[0]?.slice(0, 7) ? undefined : value }),
            })
          }
        />
        <Button variant="default" disabled={saving?.state === 'reading'} onClick={save}>
          Download CSV
        </Button>
      </div>
      {saving === null ? null : <SavedFile saving={saving} onStop={stop} onRetry={save} />}
      <ListTable
        label="Requests of the month"
        list={list}
        idOf={({ tenant_id, project_id, env }) => `${tenant_id} ${project_id} ${env}`}
        columns={columns}
        empty={
          <Empty title={`No ${env} requests in ${monthName(month)}`}>
            {ago === 0
              ? 'Connect your API. Within a minute, it reports the requests that it verifies.'
              : 'Choose another month. Months are those of UTC.'}
          </Empty>
        }
      />
    </>
  )
}

interface NamedProps {
  readonly to: string
  readonly name: string
  readonly id: string
}

const Named = ({ to, name, id }: NamedProps) => (
  <Anchor underline="always" renderRoot={props => <Link to={to} {...props} />}>
    {name === id ? <code className={classes.id}>{id}</code> : <Clip text={name} />}
  </Anchor>
)

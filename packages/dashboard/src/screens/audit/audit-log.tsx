import type { AuditLog as AuditRow } from '@keyrail/contract/vendor/audit'
import { Button, Group } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Clip } from '../../components/clip.tsx'
import { Empty } from '../../components/empty.tsx'
import { counted, countedAre } from '../../components/figures.ts'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { OnPhone } from '../../components/on-phone.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Trouble } from '../../components/trouble.tsx'
import { rowsOf } from '../../components/use-list.ts'
import { Working } from '../../components/working.tsx'
import { useHasRole } from '../../session/me.ts'
import { Actor } from './actor.tsx'
import classes from './audit-log.module.css'
import { Verdict, Verifying } from './chain.tsx'
import { Filters } from './filters.tsx'
import { auditRoute } from './routes.ts'
import { RowDetail } from './row-detail.tsx'
import { useAuditList } from './use-audit-list.ts'
import { type Check, useChecks } from './use-checks.ts'
import { useTargets } from './use-targets.ts'
import { actionWords } from './words.ts'

export function AuditLog() {
  const { check, isBusy, verify, save } = useChecks()
  return (
    <PageFrame
      title="Audit log"
      lead="Every change in this workspace, newest first. Each row holds the hash of the one before it."
      action={
        <Group gap="xs">
          <Button variant="default" disabled={isBusy} onClick={() => void save()}>
            Export
          </Button>
          <Button disabled={isBusy} onClick={() => void verify()}>
            Verify chain
          </Button>
        </Group>
      }
    >
      {check === null ? null : <Outcome check={check} />}
      <Filters />
      <Rows />
    </PageFrame>
  )
}

function Outcome({ check }: { check: Check }) {
  if (check.state === 'verifying') return <Verifying step={check.step} />
  if (check.state === 'exporting') return <Working>Exporting: {counted(check.rows, 'row')} so far…</Working>
  if (check.state === 'verified') return <Verdict chain={check.chain} />
  return (
    <div className={classes.outcome} role={check.state === 'exported' ? 'status' : undefined}>
      {check.state === 'exported' ? (
        `${countedAre(check.rows, 'row')} in ${check.file}.`
      ) : (
        <Trouble error={check.error} onRetry={check.again} />
      )}
    </div>
  )
}

const ipOf = ({ ip }: AuditRow) => (ip === undefined ? '–' : <Clip text={ip} isNarrow />)

function Rows() {
  const navigate = useNavigate({ from: auditRoute.fullPath })
  const isOwner = useHasRole('owner')
  const [opened, setOpened] = useState<readonly number[]>([])
  const toggle = (seq: number) =>
    setOpened(opened.includes(seq) ? opened.filter(one => one !== seq) : [...opened, seq])
  const { list, filters } = useAuditList()
  const targetOf = useTargets(rowsOf(list))
  const isFiltered = Object.values(filters).some(filter => filter !== undefined)
  const columns: Column<AuditRow>[] = [
    {
      header: 'Action',
      cell: row => (
        <>
          <button
            type="button"
            className={classes.open}
            aria-expanded={opened.includes(row.seq)}
            onClick={() => toggle(row.seq)}
          >
            {actionWords[row.action]}
          </button>
          <OnPhone>
            <span className={classes.target}>{targetOf(row)}</span>
          </OnPhone>
        </>
      ),
    },
    { header: 'Target', cell: row => <Clip text={targetOf(row)} />, from: 'sm' },
    { header: 'Actor', cell: row => <Actor row={row} />, from: 'md' },
    ...(isOwner ? [{ header: 'IP address', cell: ipOf, from: 'lg' as const }] : []),
    {
      header: 'Environment',
      cell: ({ env }) => (env === null ? '–' : env === 'live' ? 'Live' : 'Test'),
      from: 'md',
    },
    { header: 'When', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
  ]
  return (
    <ListTable
      label="Audit log"
      list={list}
      idOf={({ id }) => id}
      columns={columns}
      isEndless
      detail={row => (opened.includes(row.seq) ? <RowDetail row={row} /> : null)}
      empty={<Empty title="No rows yet">Create a project, a tenant or a key: each change adds a row.</Empty>}
      onClearFilters={isFiltered ? () => void navigate({ search: { env: undefined } }) : undefined}
    />
  )
}

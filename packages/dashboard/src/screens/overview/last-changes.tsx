import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { listAuditLogs } from '../../api/audit.ts'
import { Clip } from '../../components/clip.tsx'
import { Empty } from '../../components/empty.tsx'
import { ListTable } from '../../components/list-table.tsx'
import { OnPhone } from '../../components/on-phone.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { rowsOf, useList } from '../../components/use-list.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { Actor } from '../audit/actor.tsx'
import { useTargets } from '../audit/use-targets.ts'
import { actionWords } from '../audit/words.ts'
import classes from './overview.module.css'

const shown = 8

/** The newest rows of the audit log, in one page. */
export function LastChanges() {
  const env = useEnv() === 'test' ? 'test' : undefined
  const list = useList('audit_logs', listNewest, { order: 'desc', env, limit: shown })
  const targetOf = useTargets(rowsOf(list))
  return (
    <>
      <ListTable
        label="Newest rows of the audit log"
        list={list}
        idOf={({ id }) => id}
        columns={[
          {
            header: 'Action',
            cell: row => (
              <>
                {actionWords[row.action]}
                <OnPhone>
                  <span className={classes.quiet}>{targetOf(row)}</span>
                </OnPhone>
              </>
            ),
          },
          { header: 'Target', cell: row => <Clip text={targetOf(row)} />, from: 'sm' },
          { header: 'Actor', cell: row => <Actor row={row} />, from: 'md' },
          { header: 'When', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
        ]}
        empty={<Empty title="No changes yet" />}
      />
      <p className={classes.after}>
        <Anchor underline="always" renderRoot={props => <Link to="/audit-log" {...props} />}>
          Open the audit log
        </Anchor>
      </p>
    </>
  )
}

/** The rest of the list is in the audit log. */
const listNewest: typeof listAuditLogs = async (...given) => ({
  ...(await listAuditLogs(...given)),
  next_cursor: null,
})

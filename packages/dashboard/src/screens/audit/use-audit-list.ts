import { listAuditLogs } from '../../api/audit.ts'
import { timesOf } from '../../components/days.ts'
import { useList } from '../../components/use-list.ts'
import { useEnv } from '../../shell/shell-route.tsx'
import { auditRoute } from './routes.ts'

/** The log as the filters in the address narrow it, with the filters as the API names them. */
export function useAuditList() {
  const { action, actor_id, target_id, rows, from, to } = auditRoute.useSearch()
  const env = useEnv() === 'test' ? ('test' as const) : rows
  const filters = { action, actor_id, target_id, env, ...timesOf({ from, to }) }
  return { list: useList('audit_logs', listAuditLogs, { order: 'desc', ...filters }), filters }
}

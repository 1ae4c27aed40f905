import type { Overview } from '@keyrail/contract/vendor/overview'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ApiError } from '../api/api-error.ts'
import { getOverview } from '../api/overview.ts'
import { figure } from '../components/figures.ts'
import { useOnline } from '../components/use-online.ts'
import { shownWorkspaceId } from '../session/workspace.ts'
import classes from './foot.module.css'
import { useEnv } from './shell-route.tsx'

const everyMs = 60_000

/** Whether the nodes of all projects hold the newest keys, in the environment that the page shows. */
export function FleetDot() {
  const env = useEnv()
  // The overview asks for the same: both share one answer.
  const { data, error } = useQuery({
    queryKey: ['overview', shownWorkspaceId(), env],
    queryFn: ({ signal }) => getOverview({ query: { env } }, { signal }),
    refetchInterval: everyMs,
  })
  const isOnline = useOnline()
  const isOffline = !isOnline || (error instanceof ApiError && error.status === 0)
  const { text, isCurrent, to } = stateOf(error === null && !isOffline ? data : null, isOffline)
  return (
    <p className={classes.fleet} role="status">
      <svg viewBox="0 0 8 8" width={8} height={8} aria-hidden="true" focusable="false">
        <circle className={isCurrent ? classes.current : classes.behind} cx={4} cy={4} r={3} />
      </svg>
      {to === null ? text : <Link to={to}>{text}</Link>}
    </p>
  )
}

interface State {
  readonly text: string
  readonly isCurrent: boolean
  /** Where the nodes are; null when there is nothing to see. */
  readonly to: string | null
}

/** @param overview undefined: not there yet. Null: it could not be read. */
function stateOf(overview: Overview | null | undefined, isOffline: boolean): State {
  if (isOffline) return { text: 'Offline', isCurrent: false, to: null }
  if (overview === null) return { text: 'The nodes could not be read', isCurrent: false, to: null }
  if (overview === undefined) return { text: 'Looking at the nodes', isCurrent: false, to: null }
  const { live, current, capped } = overview.nodes
  if (live === 0) return { text: 'No node connected', isCurrent: false, to: '/get-started' }
  const nodes = `${figure(live)}${capped ? '+' : ''} ${live === 1 ? 'node' : 'nodes'}`
  const behind = live - current
  // The farthest behind comes first.
  const project = overview.needs_attention.nodes_behind.examples[0]?.project_id
  if (behind > 0)
    return {
      text: live === 1 ? '1 node, behind' : `${figure(behind)} of ${nodes} behind`,
      isCurrent: false,
      to: project === undefined ? '/projects' : `/projects/${project}`,
    }
  return { text: live === 1 ? '1 node, current' : `${nodes}, all current`, isCurrent: true, to: '/projects' }
}

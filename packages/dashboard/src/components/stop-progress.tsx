import type { Propagation } from '@keyrail/contract/vendor/keys'
import type { FleetNode } from '@keyrail/contract/vendor/nodes'
import { Loader, Progress } from '@mantine/core'
import classes from './stop-progress.module.css'

interface StopProgressProps {
  /** What the service has done, in a sentence. */
  readonly done: string
  /** What nodes refuse. */
  readonly what?: 'it' | 'its keys'
  /** The nodes that held the key, as they report themselves; undefined while they are not known. */
  readonly holders?: readonly FleetNode[] | undefined
  /** There may be more nodes. */
  readonly isPart?: boolean
  readonly isWaiting: boolean
  /** What the service answered at the end of the wait. */
  readonly propagation: Propagation | null
}

interface Count {
  readonly nodes: number
  readonly refusing: number
  readonly pending: readonly string[]
}

/** How many nodes refuse what was stopped, and which do not yet. */
export function StopProgress({
  done,
  what = 'it',
  holders,
  isPart = false,
  isWaiting,
  propagation,
}: StopProgressProps) {
  const count = propagation === null ? countOf(holders ?? []) : answered(propagation)
  return (
    <div role="status">
      <p>{done}</p>
      {count.nodes === 0 ? null : (
        <Progress
          mt="xs"
          value={(100 * count.refusing) / count.nodes}
          aria-label={`Nodes that refuse ${what === 'it' ? 'the key' : what}`}
        />
      )}
      <p className={classes.line}>
        {isWaiting ? <Loader size={14} aria-hidden /> : null}
        {propagation === null ? sayCount(count, isPart, what) : sayAnswer(propagation, what)}
      </p>
      {count.pending.length === 0 ? null : (
        <>
          <p>Not yet:</p>
          <ul className={classes.nodes}>
            {count.pending.map(node => (
              <li key={node}>
                <code>{node}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}

/** A node that is not behind has the change. */
function countOf(holders: readonly FleetNode[]): Count {
  const pending = holders.filter(({ behind }) => behind !== 0).map(({ node }) => node)
  return { nodes: holders.length, refusing: holders.length - pending.length, pending }
}

const answered = ({ nodes, nodes_acknowledged, pending }: Propagation): Count => ({
  nodes,
  refusing: nodes_acknowledged,
  pending,
})

const sayCount = ({ nodes, refusing }: Count, isPart: boolean, what: string) =>
  nodes === 0
    ? `Asking which nodes hold ${what}.`
    : `${refusing} of ${nodes}${isPart ? '+' : ''} nodes refuse ${what}.`

function sayAnswer(
  { acknowledged, nodes, nodes_acknowledged, waited_ms, reason }: Propagation,
  what: string,
): string {
  if (reason === 'nodes_unknown')
    return `The database was replaced a moment ago, so the nodes are not known yet. Each refuses ${what === 'it' ? 'the key' : what} within a minute.`
  if (acknowledged && nodes === 0) return `No live node holds ${what}.`
  const seconds = waited_ms < 100 ? 'less than 0.1 s' : `${(waited_ms / 1_000).toFixed(1)} s`
  if (acknowledged)
    return `${nodes === 1 ? 'The node refuses' : `All ${nodes} nodes refuse`} ${what}, after ${seconds}.`
  return `${nodes_acknowledged} of ${nodes} nodes refuse ${what}, after ${seconds}. The others do as soon as they ask.`
}

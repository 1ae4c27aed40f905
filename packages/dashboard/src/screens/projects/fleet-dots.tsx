import type { FleetNode } from '@keyrail/contract/vendor/nodes'
import { counted } from '../../components/figures.ts'
import classes from './fleet-dots.module.css'

type Look = 'current' | 'behind' | 'hollow'

/** In the order of the screen. A hollow dot is a node that verifies nothing now. */
const groups: Readonly<Record<string, Look>> = {
  Current: 'current',
  '1 version behind': 'behind',
  '2 to 9 behind': 'behind',
  '10 or more behind': 'behind',
  Loading: 'hollow',
  Silent: 'hollow',
}

/** @returns null for a node whose version this credential does not see. */
function groupOf({ live, version, behind }: FleetNode): string | null {
  if (!live) return 'Silent'
  if (version === null || behind === null) return null
  if (version === 0) return 'Loading'
  if (behind === 0) return 'Current'
  return behind === 1 ? '1 version behind' : behind < 10 ? '2 to 9 behind' : '10 or more behind'
}

/** The nodes as dots, by how far behind they are. */
export function FleetDots({ nodes }: { nodes: readonly FleetNode[] }) {
  const grouped = Map.groupBy(nodes, groupOf)
  const shown = Object.entries(groups).flatMap(([name, look]) => {
    const members = grouped.get(name)
    return members === undefined ? [] : [{ name, look, members }]
  })
  if (shown.length === 0) return null
  return (
    <dl className={classes.fleet} aria-label="Nodes by version">
      {shown.map(({ name, look, members }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <span>{counted(members.length, 'node')}</span>
            {members.map(({ node, env }) => (
              <i key={`${node} ${env}`} className={classes[look]} title={node} aria-hidden="true" />
            ))}
          </dd>
        </div>
      ))}
    </dl>
  )
}

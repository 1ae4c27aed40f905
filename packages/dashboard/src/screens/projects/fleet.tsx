import type { FleetNode, NodeList } from '@keyrail/contract/vendor/nodes'
import { Badge } from '@mantine/core'
import { listProjectNodes } from '../../api/projects.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { Empty } from '../../components/empty.tsx'
import { heldInWords, shortFigure } from '../../components/figures.ts'
import { type Column, ListTable } from '../../components/list-table.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { rowsOf, useList } from '../../components/use-list.ts'
import { FleetDots } from './fleet-dots.tsx'

const number = new Intl.NumberFormat()
const environments = { live: 'Live', test: 'Test', both: 'Live and test' } as const

const columns: Column<FleetNode>[] = [
  { header: 'Node', cell: ({ node }) => <code>{node}</code> },
  { header: 'Environment', cell: ({ env }) => environments[env], from: 'sm' },
  { header: 'Version', cell: ({ version }) => versionInWords(version), isNumber: true, from: 'sm' },
  { header: 'Behind', cell: ({ behind }) => behindInWords(behind) },
  { header: 'Keys', cell: heldInWords, isNumber: true, from: 'sm' },
  {
    header: 'Seen',
    cell: ({ seen_at, live }) => (
      <>
        <RelativeTime at={seen_at} />{' '}
        {live ? null : (
          <Badge variant="default" title="Not seen for 90 seconds or longer">
            Silent
          </Badge>
        )}
      </>
    ),
  },
]

const versionInWords = (version: number | null) =>
  version === null ? 'Hidden' : version === 0 ? 'Loading' : number.format(version)
const behindInWords = (behind: number | null) => {
  if (behind === null) return 'Hidden'
  return behind === 0 ? 'Current' : `${shortFigure(behind)} ${behind === 1 ? 'version' : 'versions'}`
}

interface NodesOfProject extends Partial<NodeList> {
  readonly project: string
}

/** The nodes of a project, the last seen first. */
export function Fleet({ projectId }: { projectId: string }) {
  const list = useList<FleetNode, NodesOfProject>(
    'nodes',
    ({ query: { project: id = '', ...query } = {} }, options) => listProjectNodes({ id, query }, options),
    { project: projectId },
  )
  return (
    <>
      <FleetDots nodes={rowsOf(list)} />
      <ListTable
        label="Nodes"
        list={list}
        idOf={({ node, env }) => `${node} ${env}`}
        columns={columns}
        empty={<NoNodes projectId={projectId} />}
      />
    </>
  )
}

const NoNodes = ({ projectId }: { projectId: string }) => (
  <Empty title="No nodes">
    <p>A node appears here when your API asks for its keys.</p>
    <CodeBlock
      label="Connect your API"
      samples={[
        {
          name: 'TypeScript',
          code: `const keyrail = createKeyrail({
  url: '${location.origin}',
  secretKey: process.env.KEYRAIL_SECRET_KEY,
  project: '${projectId}',
})
await keyrail.ready()`,
        },
      ]}
    />
  </Empty>
)

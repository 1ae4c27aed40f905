import { DeltaQuery, PolicyDeltaOrSnapshot, PolicySnapshot, SnapshotQuery } from '../feed.ts'
import { FleetNodes, NodeList } from '../vendor/nodes.ts'
import { declareRoutes } from './declare.ts'

export const policyRoutes = declareRoutes({
  'GET /v1/policy/snapshot': {
    plane: 'feed',
    operation: 'getPolicySnapshot',
    summary: 'Get a snapshot',
    description:
      'Returns the keys of a project as digests, in one response or in pages. A node starts with it and then follows the delta.',
    permission: 'policy:read',
    query: SnapshotQuery,
    answer: PolicySnapshot,
    refusals: ['not_found', 'snapshot_too_large'],
    conditional: true,
  },
  'GET /v1/policy/delta': {
    plane: 'feed',
    operation: 'getPolicyDelta',
    summary: 'Get a delta',
    description:
      'Returns what changed since a version, and acknowledges that version. Returns a snapshot when the changes are not known. `Prefer: wait=` holds the response until there is a change.',
    permission: 'policy:read',
    query: DeltaQuery,
    answer: PolicyDeltaOrSnapshot,
    refusals: ['not_found', 'snapshot_too_large'],
    conditional: true,
  },
  'GET /v1/projects/:id/nodes': {
    plane: 'vendor',
    operation: 'listNodes',
    summary: 'List the nodes of a project',
    description:
      'Returns the servers that have polled the policy of the project in the last day, the last seen first, without those that said that they had stopped. A node that polls between two pages moves to the front.',
    permission: 'projects:read',
    query: NodeList,
    answer: FleetNodes,
  },
})

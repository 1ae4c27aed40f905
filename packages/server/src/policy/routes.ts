/**
 * What nodes need to verify keys. `changes.ts` raises versions and floors; `snapshot.ts` and `delta.ts` answer polls,
 * `pages.ts` shares what is encoded once, `watch.ts` holds polls, `nodes.ts` keeps what each node has acknowledged,
 * `fleet.ts` lists them, and `propagation.ts` waits for them.
 */

import { DeltaQuery, PolicyDeltaOrSnapshot, PolicySnapshot, SnapshotQuery } from '@keyrail/contract/feed'
import { FleetNodes, NodeList } from '@keyrail/contract/vendor/nodes'
import { nodes, readers, withinProjects } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { answerDelta } from './delta.ts'
import { listNodes } from './fleet.ts'
import type { PolicyNeeds } from './needs.ts'
import { answerSnapshot } from './snapshot.ts'

const { feedRoute, vendorRoute } = routesFor<PolicyNeeds>()

export const policyRoutes: Route<PolicyNeeds>[] = [
  feedRoute('/v1/policy/snapshot', {
    operation: 'getPolicySnapshot',
    summary: 'Get a snapshot',
    description:
      'Returns the keys of a project as digests, in one response or in pages. A node starts with it and then follows the delta.',
    access: withinProjects(nodes('policy:read')),
    query: SnapshotQuery,
    answer: PolicySnapshot,
    refusals: ['not_found', 'snapshot_too_large'],
    handle: answerSnapshot,
  }),
  feedRoute('/v1/policy/delta', {
    operation: 'getPolicyDelta',
    summary: 'Get a delta',
    description:
      'Returns what changed since a version, and acknowledges that version. Returns a snapshot when the changes are not known. `Prefer: wait=` holds the response until there is a change.',
    access: withinProjects(nodes('policy:read')),
    query: DeltaQuery,
    answer: PolicyDeltaOrSnapshot,
    refusals: ['not_found', 'snapshot_too_large'],
    handle: answerDelta,
  }),
  vendorRoute('GET', '/v1/projects/:id/nodes', {
    operation: 'listNodes',
    summary: 'List the nodes of a project',
    description:
      'Returns the servers that have polled the policy of the project in the last day, the last seen first. A node that polls between two pages moves to the front.',
    access: withinProjects(readers('projects:read')),
    query: NodeList,
    answer: FleetNodes,
    handle: async (deps, { db, principal, id, query }) => ({
      body: await listNodes(deps, db, principal, id, query),
    }),
  }),
]

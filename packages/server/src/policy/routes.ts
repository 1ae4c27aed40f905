import { DeltaQuery, PolicyDeltaOrSnapshot, PolicySnapshot, SnapshotQuery } from '@keyrail/contract/feed'
import { nodes, withinProjects } from '../gate/access.ts'
import { feedRoute, type Route } from '../gate/route.ts'
import { answerDelta } from './delta.ts'
import { answerSnapshot } from './snapshot.ts'

export const policyRoutes: Route[] = [
  feedRoute('/v1/policy/snapshot', {
    operation: 'getPolicySnapshot',
    summary: 'Take the keys of a project, whole or page by page',
    access: withinProjects(nodes('policy:read')),
    query: SnapshotQuery,
    answer: PolicySnapshot,
    refusals: ['not_found', 'snapshot_too_large'],
    handle: answerSnapshot,
  }),
  feedRoute('/v1/policy/delta', {
    operation: 'getPolicyDelta',
    summary: 'Take what changed since a version, and acknowledge that version',
    access: withinProjects(nodes('policy:read')),
    query: DeltaQuery,
    answer: PolicyDeltaOrSnapshot,
    refusals: ['not_found', 'snapshot_too_large'],
    handle: answerDelta,
  }),
]

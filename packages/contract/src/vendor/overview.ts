import type { Static, TSchema } from 'typebox'
import { NodeId } from '../feed.ts'
import { Type } from '../schema.ts'
import { Env, nullable, oneOf, type ReadQuery, StoredName, strictObject, Timestamp, Uuid } from '../shared.ts'
import { DailyUsage } from './usage.ts'

/** The state of a workspace in one answer: what its people look at first. */

/** Counts stop here, and the answer says so. */
export const activeKeysMax = 10_000
export const attentionMax = 1_000
export const examplesMax = 5

export const OverviewQuery = Type.Object({
  env: Type.Optional(
    oneOf(['live', 'test'], {
      default: 'live',
      description: 'The environment of the keys, requests and nodes. Billable tenants are those of live.',
    }),
  ),
})
export type OverviewQuery = ReadQuery<typeof OverviewQuery>

const Count = Type.Integer({ minimum: 0 })
const Capped = Type.Boolean({ description: 'Whether there are more than `count`.' })

const attention = <T extends TSchema>(example: T) =>
  strictObject({
    count: Type.Integer({ minimum: 0, maximum: attentionMax }),
    capped: Capped,
    examples: Type.Array(example, { maxItems: examplesMax }),
  })

export const KeyExample = strictObject({
  id: Uuid,
  name: nullable(StoredName),
  display_prefix: Type.String(),
  project_id: Uuid,
  tenant_id: Uuid,
  expires_at: nullable(Timestamp),
  last_used_at: nullable(Timestamp),
  created_at: Timestamp,
})
export type KeyExample = Static<typeof KeyExample>
export const KeyExamples = attention(KeyExample)

/** Keys of a project that are older than it allows. */
export const TooOldKeys = strictObject({
  project_id: Uuid,
  count: Type.Integer({ minimum: 1, maximum: attentionMax }),
  capped: Capped,
})
export type TooOldKeys = Static<typeof TooOldKeys>

export const NodeExample = strictObject({
  project_id: Uuid,
  node: NodeId,
  env: oneOf(['live', 'test', 'both']),
  version: Count,
  behind: Type.Integer({ minimum: 1 }),
  seen_at: Timestamp,
})
export type NodeExample = Static<typeof NodeExample>

export const FullNodeExample = strictObject({
  project_id: Uuid,
  node: NodeId,
  env: oneOf(['live', 'test', 'both']),
  held_keys: Count,
  held_keys_max: Count,
  seen_at: Timestamp,
})
export type FullNodeExample = Static<typeof FullNodeExample>

export const Overview = strictObject({
  object: Type.Literal('overview'),
  env: Env,
  active_keys: strictObject({
    count: Type.Integer({ minimum: 0, maximum: activeKeysMax }),
    capped: Capped,
  }),
  requests: DailyUsage,
  nodes: strictObject({
    live: Count,
    current: Type.Integer({ minimum: 0, description: 'Live nodes that hold the newest version.' }),
    capped: Capped,
  }),
  billable_tenants: Type.Integer({ minimum: 0, description: 'In this month so far.' }),
  needs_attention: strictObject(
    {
      expiring_keys: KeyExamples,
      unused_keys: KeyExamples,
      endless_keys: KeyExamples,
      too_old_keys: Type.Array(TooOldKeys, {
        maxItems: examplesMax,
        description: 'Keys older than `max_key_lifetime_days` of their project, the project with most first.',
      }),
      nodes_behind: attention(NodeExample),
      nodes_full: attention(FullNodeExample),
      unverified_address: Type.Boolean({
        description: 'Whether the signed-in person has not verified their address. False for a secret key.',
      }),
    },
    {
      description:
        'Active keys that expire within 14 days, the soonest first; that were not used for 90 days, the longest first; that never expire, the oldest first. Live nodes that are behind, the farthest first; that hold 80 % or more of the keys that they may hold, the fullest first. Beyond these a node refuses keys, and a new process does not start.',
    },
  ),
})
export type Overview = Static<typeof Overview>

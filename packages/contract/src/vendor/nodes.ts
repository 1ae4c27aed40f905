import type { Static } from 'typebox'
import { NodeId } from '../feed.ts'
import { Type } from '../schema.ts'
import { listOf, nullable, oneOf, paging, type ReadQuery, strictObject, Timestamp } from '../shared.ts'

/** The servers that hold the keys of a project, as they have reported themselves. */

export const NodeList = Type.Object(paging())
export type NodeList = ReadQuery<typeof NodeList>

const hidden = 'Null for a test credential, since it would reveal changes of live keys.'

export const FleetNode = strictObject({
  node: NodeId,
  env: oneOf(['live', 'test', 'both'], { description: 'The environments whose keys the node holds.' }),
  version: nullable(
    Type.Integer({
      minimum: 0,
      description: `The version that the node holds. 0: it is fetching its first snapshot. ${hidden}`,
    }),
  ),
  behind: nullable(
    Type.Integer({
      minimum: 0,
      description: `How many versions the project is ahead of the node. ${hidden}`,
    }),
  ),
  held_keys: nullable(
    Type.Integer({ minimum: 0, description: 'How many keys the node holds. Null: it does not report that.' }),
  ),
  held_keys_max: nullable(
    Type.Integer({
      minimum: 0,
      description:
        'How many keys the node may hold: `maxAutoCachedKeys` of its keyring. Null: it does not report that.',
    }),
  ),
  seen_at: Timestamp,
  live: Type.Boolean({ description: 'Whether the node was seen within the last 90 s.' }),
})
export type FleetNode = Static<typeof FleetNode>
export const FleetNodes = listOf(FleetNode)
export type FleetNodes = Static<typeof FleetNodes>

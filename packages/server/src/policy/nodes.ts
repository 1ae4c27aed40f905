import type { Env } from '@keyrail/contract/shared'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../platform/clock.ts'
import type { Connection } from '../platform/db/connection.ts'
import { type LaneObserver, openLane } from '../platform/db/lane.ts'
import { countNodes, noteNodes } from './sql.ts'

/** What a node lets be known of itself by asking: it holds `version`, of the environments that it sees. */
export interface Sighting {
  workspaceId: string
  projectId: string
  sees: Env | 'both'
  node: string
  /** 0: it holds nothing yet. */
  version: number
}

export interface FleetQuestion {
  workspaceId: string
  projectId: string
  env: Env
  version: number
}

export interface Fleet {
  nodes: number
  acknowledged: number
  /** At most 50 ids. */
  pending: string[]
}

export interface Nodes {
  /** Notes a sighting, unless the same was noted in the last 30 s. A store that takes no writes keeps no node from its policy. */
  note(sighting: Sighting): Promise<void>
  /** The nodes seen within 90 s that see the environment, and which of them hold the version. */
  count(question: FleetQuestion): Promise<Fleet>
  depth(): number
  close(): Promise<void>
}

/** Of a project. Beyond them a new node is not kept, until one has been silent for 90 s. */
const mostNodes = 10_000
/** A node that is current and was seen so recently causes no write. Well below the 90 s for which it counts as live. */
const rewriteMs = 30_000
/** Nodes whose last write is remembered, about 200 bytes each; one that is forgotten is written anew. */
const mostRemembered = 100_000

export function openNodes(connection: Connection, clock: Clock, observer: LaneObserver): Nodes {
  const remembered = new LRUCache<string, { version: number; at: number }>({ max: mostRemembered })
  const writes = openLane<Sighting, void>(
    connection,
    {
      name: 'policy_nodes',
      statement: noteNodes,
      // Noting it twice comes to the same.
      repeatable: true,
      values: said => [
        said.map(one => one.workspaceId),
        said.map(one => one.projectId),
        said.map(one => one.sees),
        said.map(one => one.node),
        said.map(one => one.version),
        mostNodes,
      ],
      answers: (_rows, said) => said.map(() => undefined),
      bytesOf: ({ node }) => 96 + node.length,
    },
    observer,
  )
  const counts = openLane<FleetQuestion, Fleet>(
    connection,
    {
      name: 'policy_fleet',
      statement: countNodes,
      repeatable: true,
      values: asked => [
        asked.map(one => one.workspaceId),
        asked.map(one => one.projectId),
        asked.map(one => one.env),
        asked.map(one => one.version),
      ],
      answers(rows, asked) {
        const byPlace = new Map(rows.map(row => [Number(row.place), row]))
        return asked.map((_, i) => {
          const row = byPlace.get(i + 1)
          return {
            nodes: Number(row?.nodes ?? 0),
            acknowledged: Number(row?.acknowledged ?? 0),
            pending: (row?.pending as string[] | null | undefined) ?? [],
          }
        })
      },
    },
    observer,
  )
  return {
    async note(sighting) {
      const { workspaceId, projectId, sees, node, version } = sighting
      const key = `${workspaceId}/${projectId}/${sees}/${node}`
      const last = remembered.get(key)
      const now = clock.monotonic()
      if (last !== undefined && last.version === version && now - last.at < rewriteMs) return
      try {
        await writes.run(sighting)
        remembered.set(key, { version, at: now })
      } catch {
        // A full disk must not cost a fleet its confirmations; `revoke?wait=true` tells of the node as pending.
        remembered.delete(key)
      }
    },
    count: question => counts.run(question),
    depth: () => writes.depth(),
    async close() {
      await Promise.all([writes.close(), counts.close()])
    },
  }
}

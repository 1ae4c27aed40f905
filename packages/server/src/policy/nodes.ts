import type { Env } from '@keyrail/contract/shared'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../platform/clock.ts'
import type { Connection } from '../platform/db/connection.ts'
import { type LaneObserver, openLane } from '../platform/db/lane.ts'
import { requireSame } from '../platform/db/timeline.ts'
import { countNodes, noteNodes } from './sql.ts'

/** What a node lets be known of itself by asking: it holds `version`, of the environments that it sees. */
export interface Sighting {
  workspaceId: string
  projectId: string
  sees: Env | 'both'
  node: string
  /** 0: it holds nothing yet. */
  version: number
  /** Of the project's head. A fail-over, which may have lost what was noted, raises it. */
  floor: number
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
  /** When all versions were last raised, in ms, because the database may have lost some. */
  raisedAt: number | null
  /** True for 90 s from then: a node of which the database has lost the note may live unheard. */
  isNew: boolean
}

export interface Nodes {
  /**
   * Notes a sighting, unless the same was noted in the last 30 s. A store that takes no writes, or has no room for the
   * node, keeps it from no policy; it counts among those that hold nothing then.
   */
  note(sighting: Sighting): Promise<void>
  /** The nodes seen within 90 s that see the environment, and which of them hold the version. */
  count(question: FleetQuestion): Promise<Fleet>
  depth(): number
  close(): Promise<void>
}

/** Of a project. Beyond them a new node is not kept, until one has been silent for 90 s. */
const mostNodes = 10_000
/** Of those, nodes that see test alone: so that a test key can fill no room that nodes of live keys need. */
const mostTestNodes = 1_000
/** How long a poll waits for its note, in ms. Longer, and it would be the poll that is lost. */
const noteMs = 500
/** How long a node counts as live, as in `countNodes`. */
const liveMs = 90_000
/** Nodes that could not be noted and are remembered here, over all projects. */
const mostUnwritten = 10_000
/** A node that is current and was seen so recently causes no write. Well below the 90 s for which it counts as live. */
const rewriteMs = 30_000
/** Nodes that an answer names. */
const mostPending = 50
/** Nodes whose last write is remembered, about 200 bytes each; one that is forgotten is written anew. */
const mostRemembered = 100_000

export function openNodes(connection: Connection, clock: Clock, observer: LaneObserver): Nodes {
  const remembered = new LRUCache<string, { version: number; floor: number; at: number }>({
    max: mostRemembered,
  })
  const unwritten = new LRUCache<string, Sighting & { at: number }>({ max: mostUnwritten })
  const writes = openLane<Sighting, boolean>(
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
        mostNodes - mostTestNodes,
        mostTestNodes,
      ],
      answers(rows, said) {
        const kept = new Set(rows.map(row => Number(row.place)))
        return said.map((_, i) => kept.has(i + 1))
      },
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
        requireSame(rows[0])
        const byPlace = new Map(rows.map(row => [Number(row.place), row]))
        return asked.map((_, i) => {
          const row = byPlace.get(i + 1)
          return {
            nodes: Number(row?.nodes ?? 0),
            acknowledged: Number(row?.acknowledged ?? 0),
            pending: (row?.pending as string[] | null | undefined) ?? [],
            raisedAt: (row?.raised_at as Date | null | undefined)?.getTime() ?? null,
            isNew: row?.is_new === true,
          }
        })
      },
    },
    observer,
  )
  return {
    async note(sighting) {
      const { workspaceId, projectId, sees, node, version, floor } = sighting
      const key = `${workspaceId}/${projectId}/${sees}/${node}`
      const last = remembered.get(key)
      const now = clock.monotonic()
      if (last?.version === version && last.floor === floor && now - last.at < rewriteMs) return
      const isKept = await writes.run(sighting, performance.now() + noteMs).catch(() => false)
      if (isKept) {
        remembered.set(key, { version, floor, at: now })
        unwritten.delete(key)
      } else {
        // A full disk must not cost a fleet its confirmations, nor a revocation its truth.
        remembered.delete(key)
        unwritten.set(key, { ...sighting, at: now })
      }
    },
    async count(question) {
      const fleet = await counts.run(question)
      const missed = [...unwritten.values()].filter(
        ({ workspaceId, projectId, sees, version, at }) =>
          workspaceId === question.workspaceId &&
          projectId === question.projectId &&
          (sees === question.env || sees === 'both') &&
          version < question.version &&
          clock.monotonic() - at < liveMs,
      )
      const unknown = missed.map(({ node }) => node).filter(node => !fleet.pending.includes(node))
      return {
        ...fleet,
        nodes: fleet.nodes + unknown.length,
        pending: [...fleet.pending, ...unknown].slice(0, mostPending),
      }
    },
    depth: () => writes.depth(),
    async close() {
      await Promise.all([writes.close(), counts.close()])
    },
  }
}

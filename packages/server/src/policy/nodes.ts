import type { Env } from '@keyrail/contract/shared'
import type { Clock } from '../platform/clock.ts'
import { Deadline } from '../platform/concurrency/deadline.ts'
import { recentlyUsed } from '../platform/concurrency/recently-used.ts'
import type { StoreClock } from '../platform/db/failover/store-clock.ts'
import { requireSame } from '../platform/db/failover/timeline.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { liveMs } from './live.ts'
import { countNodes, noteAndTimeNodes, noteNodes, recordedSince, removeNodes } from './nodes-sql.ts'
import { type NotedNode, UnwrittenNodes } from './unwritten-nodes.ts'

interface NodePlace {
  workspaceId: string
  projectId: string
  sees: Env | 'both'
  node: string
}

/** What a poll says about its node: it holds `version` of the environments that it sees. */
interface Sighting extends NodePlace {
  /** 0: it holds nothing yet. */
  version: number
  /** How many keys it holds, of how many it may hold. Null: it does not report that. */
  heldKeys: number | null
  heldKeysMax: number | null
  /** The floor of the project. A failover raises it, and may have lost recorded nodes. */
  floor: number
}

/** What a poll says of the keys that its node holds. */
export const heldBy = ({ held_keys, held_keys_max }: { held_keys?: number; held_keys_max?: number }) => ({
  heldKeys: held_keys ?? null,
  heldKeysMax: held_keys_max ?? null,
})

export interface FleetQuestion {
  workspaceId: string
  projectId: string
  /** Null: both. */
  env: Env | null
  version: number
}

export interface Fleet {
  nodes: number
  acknowledged: number
  /** At most 50 ids. */
  pending: string[]
  /** When a failover last raised all versions, in ms, because the database may have lost some. */
  raisedAt: number | null
  /**
   * True for 90 s after that: the database may have lost a live node that has not polled since. And for 90 s after its clock was
   * found set ahead: by that clock, no node was seen for long.
   */
  isUnsure: boolean
}

export interface Nodes {
  /**
   * Records a sighting, unless the same one was recorded in the last 30 s. If the database rejects writes or has no quota
   * for the node, the node still gets its policy and counts as one that holds nothing.
   */
  note(sighting: Sighting): Promise<void>
  /** Removes a node that has stopped. If the database rejects the write, the node counts as live for its 90 s. */
  leave(place: NodePlace): Promise<void>
  /** The nodes seen within 90 s that see the environment, or one of both, and which of them hold the version. */
  count(question: FleetQuestion): Promise<Fleet>
}

/** Per project. Further nodes are not recorded until one has been silent for 90 s. */
const mostNodes = 10_000
/** The part of these for nodes that see test only, so that a test key cannot take the quota of nodes with live keys. */
const mostTestNodes = 1_000
/** A current node that was seen this recently causes no write. Well below the 90 s for which it counts as live. */
const rewriteMs = 30_000
/** Nodes that a response names. */
export const mostPending = 50
/** Nodes whose last write is cached, about 200 bytes each; an evicted one is written again. */
const mostRemembered = 100_000

/** Hears how many seconds after a change a node has acknowledged it. */
type Acknowledged = (seconds: number) => void

/**
 * @param noteMs how long a poll waits for its node to be recorded. A longer wait would risk the poll itself.
 * @param acknowledged null: nothing is measured.
 */
export const openNodes = (
  lanes: Lanes,
  clock: Clock,
  storeClock: StoreClock,
  noteMs: number,
  acknowledged: Acknowledged | null,
): Nodes => {
  const opened = {
    writes: openWrites(lanes, acknowledged),
    removals: openRemovals(lanes),
    counts: openCounts(lanes),
    recorded: openRecorded(lanes, clock),
  }
  return new RecordedNodes(opened, clock, storeClock, noteMs)
}

interface NodeLanes {
  readonly writes: ReturnType<typeof openWrites>
  readonly removals: ReturnType<typeof openRemovals>
  readonly counts: ReturnType<typeof openCounts>
  readonly recorded: ReturnType<typeof openRecorded>
}

class RecordedNodes implements Nodes {
  readonly #remembered = recentlyUsed<{ version: number; floor: number; at: number }>(mostRemembered)
  readonly #unwritten: UnwrittenNodes
  readonly #lanes: NodeLanes
  readonly #clock: Clock
  readonly #storeClock: StoreClock
  readonly #noteMs: number

  constructor(opened: NodeLanes, clock: Clock, storeClock: StoreClock, noteMs: number) {
    this.#unwritten = new UnwrittenNodes(clock.monotonic)
    this.#lanes = opened
    this.#clock = clock
    this.#storeClock = storeClock
    this.#noteMs = noteMs
  }

  async note(sighting: Sighting): Promise<void> {
    const { version, floor } = sighting
    const key = nameOf(sighting)
    const last = this.#remembered.get(key)
    const now = this.#clock.monotonic()
    const isSame = last?.version === version && last.floor === floor
    if (isSame && last.at > this.#storeClock.aheadAt() && now - last.at < rewriteMs) return
    const isKept = await this.#lanes.writes.run(sighting, new Deadline(this.#noteMs)).catch(() => false)
    if (isKept) {
      this.#remembered.set(key, { version, floor, at: now })
      this.#unwritten.delete(sighting)
    } else {
      // With a full disk, nodes are still confirmed, and revocations still report the truth.
      this.#remembered.delete(key)
      this.#unwritten.note(sighting)
    }
  }

  async leave(place: NodePlace): Promise<void> {
    const isRemoved = await this.#lanes.removals.run(place, new Deadline(this.#noteMs)).catch(() => false)
    if (!isRemoved) return
    this.#remembered.delete(nameOf(place))
    this.#unwritten.delete(place)
  }

  async count(question: FleetQuestion): Promise<Fleet> {
    const { workspaceId, projectId, env, version } = question
    const seeing = env === null ? (['live', 'test', 'both'] as const) : ([env, 'both'] as const)
    const places = seeing.map(sees => ({ workspaceId, projectId, sees }))
    const missed = () =>
      places.flatMap(place => this.#unwritten.liveOf(place)).filter(one => one.version < version)
    await this.#forgetRecorded(missed())
    const noteTime = this.#storeClock.ask()
    const { storeMs, ...fleet } = await this.#lanes.counts.run(question)
    if (storeMs !== null) noteTime(storeMs)
    const unknown = missed()
      .map(({ node }) => node)
      .filter(node => !fleet.pending.includes(node))
    return {
      ...fleet,
      isUnsure:
        fleet.isUnsure ||
        places.some(place => this.#unwritten.isUnsure(place)) ||
        this.#clock.monotonic() - this.#storeClock.aheadAt() < liveMs,
      nodes: fleet.nodes + unknown.length,
      pending: [...fleet.pending, ...unknown].slice(0, mostPending),
    }
  }

  /** Behind a balancer, the next poll of a node reaches another process, which records it. */
  async #forgetRecorded(missed: readonly NotedNode[]): Promise<void> {
    const look = async (noted: NotedNode) => {
      const isRecorded = await this.#lanes.recorded.run(noted).catch(() => false)
      if (isRecorded) this.#unwritten.forget(noted)
    }
    await Promise.all(missed.slice(0, mostPending).map(look))
  }
}

const nameOf = ({ workspaceId, projectId, sees, node }: NodePlace): string =>
  `${workspaceId}/${projectId}/${sees}/${node}`

const openWrites = (lanes: Lanes, acknowledged: Acknowledged | null) =>
  lanes.open<Sighting, boolean>({
    name: 'policy_nodes',
    shares: 'writes',
    statement: acknowledged === null ? noteNodes : noteAndTimeNodes,
    // Recording a node twice has the same result.
    repeatable: true,
    values: sightings => [
      sightings.map(one => one.workspaceId),
      sightings.map(one => one.projectId),
      sightings.map(one => one.sees),
      sightings.map(one => one.node),
      sightings.map(one => one.version),
      sightings.map(one => one.heldKeys),
      sightings.map(one => one.heldKeysMax),
      mostNodes - mostTestNodes,
      mostTestNodes,
    ],
    answers(rows, sightings) {
      const kept = new Set(rows.map(row => Number(row.place)))
      if (acknowledged !== null)
        for (const { age } of rows) if (typeof age === 'number') acknowledged(Math.max(age, 0))
      return sightings.map((_, i) => kept.has(i + 1))
    },
    bytesOf: ({ node }) => 96 + node.length,
  })

const openRemovals = (lanes: Lanes) =>
  lanes.open<NodePlace, boolean>({
    name: 'policy_left',
    shares: 'writes',
    statement: removeNodes,
    repeatable: true,
    values: places => [
      places.map(one => one.workspaceId),
      places.map(one => one.projectId),
      places.map(one => one.sees),
      places.map(one => one.node),
    ],
    answers: (_rows, places) => places.map(() => true),
    bytesOf: ({ node }) => 96 + node.length,
  })

const openRecorded = (lanes: Lanes, clock: Clock) =>
  lanes.open<NotedNode, boolean>({
    name: 'policy_recorded',
    shares: 'reads',
    statement: recordedSince,
    repeatable: true,
    values: noted => [
      noted.map(one => one.workspaceId),
      noted.map(one => one.projectId),
      noted.map(one => one.sees),
      noted.map(one => one.node),
      // Read when the batch is sent: what comes between makes the moment later, which keeps a node.
      noted.map(one => clock.monotonic() - one.at),
    ],
    answers(rows, noted) {
      const recorded = new Set(rows.map(row => Number(row.place)))
      return noted.map((_, i) => recorded.has(i + 1))
    },
    bytesOf: ({ node }) => 96 + node.length,
  })

const openCounts = (lanes: Lanes) =>
  lanes.open<FleetQuestion, Fleet & { storeMs: number | null }>({
    name: 'policy_fleet',
    shares: 'reads',
    statement: countNodes,
    repeatable: true,
    // Each count reads all nodes of its project. Many callers that wait for one version share it.
    nameOf: ({ workspaceId, projectId, env, version }) =>
      `${workspaceId} ${projectId} ${env ?? 'both'} ${version}`,
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
          isUnsure: row?.is_new === true,
          storeMs: (row?.now as number | undefined) ?? null,
        }
      })
    },
  })

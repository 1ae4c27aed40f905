import { setTimeout as sleep } from 'node:timers/promises'
import { treeCpuSeconds } from '../harness/proc.ts'
import { percentile } from '../harness/statistics.ts'
import { type Asking, type Ear, FleetNode } from './fleet-node.ts'
import { pull, type Trigger } from './fleet-trigger.ts'

export type RevocationPlan = Asking & {
  nodes: number
  revocations: readonly { keyId: string; trigger: Trigger }[]
  /**
   * The time over which the revocations of a polling fleet are spread evenly. A held fleet learns of each before the
   * next.
   */
  seconds: number
  /** Processes whose CPU time is measured, children included. */
  pids: Readonly<Record<string, number>>
}

export type RevocationCounts = {
  /** From the answer to a revocation until a node has applied it, over all nodes and revocations. */
  p99Ms: number
  maxMs: number
  /** How often a node has learnt of a revocation: nodes times revocations, if all is well. */
  learned: number
  /** From the first revocation until the last node has learnt of the last one. */
  pollsPerSecond: number
  cores: Record<string, number>
  /** Answers of 503 from the first revocation on; the node asks again. */
  refused: number
  /** The first few faults. */
  wrong: string[]
  /** How late the fleet itself sent its polls. */
  lateP99Ms: number
  /** Share of its core that the fleet used, 0 to 1. */
  generatorBusy: number
}

const connectAtOnce = 100
/** After all nodes have learnt of it: until every node of a held fleet is held again. */
const settleMs = 1_000
const wrongsTold = 3
/** Intervals. A node that has not learnt of it by then never will. */
const patience = 12

/** Runs a fleet, revokes, and measures the time until each node refuses. All on one clock, in one process. */
export async function measureRevocations(plan: RevocationPlan): Promise<RevocationCounts> {
  const { intervalMs, waitSeconds } = plan
  const tally = new Tally(plan)
  const fleet = await connectFleet(plan, tally)
  const isHeld = waitSeconds !== null
  for (const node of fleet) node.start(Math.random() * (isHeld ? settleMs : intervalMs))
  if (isHeld) await sleep(2 * settleMs)
  else await tally.until(() => tally.haveAllPolled())

  tally.beginAgain()
  const cpuBefore = process.cpuUsage()
  const before = cpuOf(plan.pids)
  const startedAt = performance.now()
  const revokedAt = await revokeAll(plan, tally, startedAt)
  await tally.until(() => tally.doAllKnowAll())
  const ms = performance.now() - startedAt
  const cores = Object.fromEntries(
    Object.entries(cpuOf(plan.pids)).map(([name, used]) => [
      name,
      ((used - (before[name] ?? 0)) * 1000) / ms,
    ]),
  )
  const cpu = process.cpuUsage(cpuBefore)
  for (const node of fleet) node.stop()

  const times = tally.timesSince(revokedAt)
  return {
    p99Ms: percentile(times, 0.99),
    maxMs: percentile(times, 1),
    learned: times.length,
    pollsPerSecond: (tally.answered * 1000) / ms,
    cores,
    refused: tally.refused,
    wrong: tally.wrong.slice(0, wrongsTold),
    lateP99Ms: percentile(tally.late, 0.99),
    generatorBusy: (cpu.user + cpu.system) / 1000 / ms,
  }
}

/** What the nodes of a fleet hear. */
class Tally {
  readonly wrong: string[] = []
  readonly late: number[] = []
  answered = 0
  refused = 0
  readonly #plan: RevocationPlan
  readonly #places: ReadonlyMap<string, number>
  readonly #learnedAt: Float64Array[]
  readonly #learned: number[]
  readonly #polls: Uint32Array

  constructor(plan: RevocationPlan) {
    const { nodes, revocations } = plan
    this.#plan = plan
    this.#places = new Map(revocations.map(({ keyId }, place) => [keyId, place]))
    this.#learnedAt = revocations.map(() => new Float64Array(nodes))
    this.#learned = revocations.map(() => 0)
    this.#polls = new Uint32Array(nodes)
  }

  earOf(n: number): Ear {
    return {
      tombstone: keyId => {
        const place = this.#places.get(keyId)
        const times = this.#learnedAt[place ?? -1]
        if (place === undefined || times === undefined) return void this.wrong.push(`a tombstone of ${keyId}`)
        if (times[n] !== 0) return
        times[n] = performance.now()
        this.#learned[place] = (this.#learned[place] ?? 0) + 1
      },
      polled: lateMs => {
        this.#polls[n] = (this.#polls[n] ?? 0) + 1
        this.answered++
        this.late.push(lateMs)
      },
      refused: () => {
        this.refused++
      },
      wrong: why => void this.wrong.push(why),
    }
  }

  /** Forgets what came before the first revocation, but for the faults. */
  beginAgain(): void {
    this.late.length = 0
    this.answered = 0
    this.refused = 0
  }

  haveAllPolled(): boolean {
    return this.#polls.every(count => count > 0)
  }

  doAllKnow(place: number): boolean {
    return this.#learned[place] === this.#plan.nodes
  }

  doAllKnowAll(): boolean {
    return this.#learned.every((_, place) => this.doAllKnow(place))
  }

  /** False when it takes too long, or after a fault. */
  async until(holds: () => boolean): Promise<boolean> {
    const deadline = performance.now() + patience * this.#plan.intervalMs
    while (!holds() && this.wrong.length === 0 && performance.now() < deadline) await sleep(5)
    return holds() && this.wrong.length === 0
  }

  timesSince(revokedAt: readonly number[]): number[] {
    return revokedAt.flatMap((at, place) =>
      Array.from(this.#learnedAt[place] ?? [])
        .filter(learnt => learnt > 0)
        // A node may learn of it before the caller does.
        .map(learnt => Math.max(0, learnt - at)),
    )
  }
}

async function connectFleet(plan: RevocationPlan, tally: Tally): Promise<FleetNode[]> {
  const { nodes } = plan
  const fleet: FleetNode[] = []
  while (fleet.length < nodes) {
    const some = Array.from({ length: Math.min(connectAtOnce, nodes - fleet.length) }, (_, n) => {
      const place = fleet.length + n
      return FleetNode.connect(plan, `bench-${place}`, tally.earOf(place))
    })
    fleet.push(...(await Promise.all(some)))
  }
  return fleet
}

/** @returns when each was answered. Fewer than planned, if a held fleet does not learn of one. */
async function revokeAll(plan: RevocationPlan, tally: Tally, startedAt: number): Promise<number[]> {
  const { waitSeconds, revocations, seconds } = plan
  const revokedAt: number[] = []
  for (const [place, { trigger }] of revocations.entries()) {
    const pulled = await pull(trigger)
    revokedAt.push(pulled.at)
    tally.refused += pulled.refused
    if (waitSeconds !== null) {
      if (!(await tally.until(() => tally.doAllKnow(place)))) break
      await sleep(settleMs)
    } else
      await sleep(
        Math.max(0, startedAt + ((place + 1) * seconds * 1000) / revocations.length - performance.now()),
      )
  }
  return revokedAt
}

const cpuOf = (pids: RevocationPlan['pids']): Record<string, number> =>
  Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, treeCpuSeconds(pid)]))

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
  const { nodes, intervalMs, waitSeconds, revocations, seconds } = plan
  const places = new Map(revocations.map(({ keyId }, place) => [keyId, place]))
  const learnedAt = revocations.map(() => new Float64Array(nodes))
  const learned = revocations.map(() => 0)
  const polls = new Uint32Array(nodes)
  const wrong: string[] = []
  const late: number[] = []
  let answered = 0
  let refused = 0
  const earOf = (n: number): Ear => ({
    tombstone(keyId) {
      const place = places.get(keyId)
      const times = learnedAt[place ?? -1]
      if (place === undefined || times === undefined) return this.wrong(`a tombstone of ${keyId}`)
      if (times[n] !== 0) return
      times[n] = performance.now()
      learned[place] = (learned[place] ?? 0) + 1
    },
    polled(lateMs) {
      polls[n] = (polls[n] ?? 0) + 1
      answered++
      late.push(lateMs)
    },
    refused() {
      refused++
    },
    wrong(why) {
      wrong.push(why)
    },
  })

  const fleet: FleetNode[] = []
  while (fleet.length < nodes) {
    const some = Array.from({ length: Math.min(connectAtOnce, nodes - fleet.length) }, (_, n) => {
      const place = fleet.length + n
      return FleetNode.connect(plan, `bench-${place}`, earOf(place))
    })
    fleet.push(...(await Promise.all(some)))
  }
  /** False when it takes too long, or after a fault. */
  const until = async (holds: () => boolean) => {
    const deadline = performance.now() + patience * intervalMs
    while (!holds() && wrong.length === 0 && performance.now() < deadline) await sleep(5)
    return holds() && wrong.length === 0
  }
  const allKnow = (place: number) => learned[place] === nodes
  const isHeld = waitSeconds !== null
  for (const node of fleet) node.start(Math.random() * (isHeld ? settleMs : intervalMs))
  if (isHeld) await sleep(2 * settleMs)
  else await until(() => polls.every(count => count > 0))

  late.length = 0
  answered = 0
  refused = 0
  const cpuBefore = process.cpuUsage()
  const before = cpuOf(plan.pids)
  const startedAt = performance.now()
  const revokedAt: number[] = []
  for (const [place, { trigger }] of revocations.entries()) {
    const pulled = await pull(trigger)
    revokedAt.push(pulled.at)
    refused += pulled.refused
    if (isHeld) {
      if (!(await until(() => allKnow(place)))) break
      await sleep(settleMs)
    } else
      await sleep(
        Math.max(0, startedAt + ((place + 1) * seconds * 1000) / revocations.length - performance.now()),
      )
  }
  await until(() => learned.every((_, place) => allKnow(place)))
  const ms = performance.now() - startedAt
  const cores = Object.fromEntries(
    Object.entries(cpuOf(plan.pids)).map(([name, used]) => [
      name,
      ((used - (before[name] ?? 0)) * 1000) / ms,
    ]),
  )
  const cpu = process.cpuUsage(cpuBefore)
  for (const node of fleet) node.stop()

  const times = revokedAt.flatMap((at, place) =>
    Array.from(learnedAt[place] ?? [])
      .filter(learnt => learnt > 0)
      // A node may learn of it before the caller does.
      .map(learnt => Math.max(0, learnt - at)),
  )
  return {
    p99Ms: percentile(times, 0.99),
    maxMs: percentile(times, 1),
    learned: times.length,
    pollsPerSecond: (answered * 1000) / ms,
    cores,
    refused,
    wrong: wrong.slice(0, wrongsTold),
    lateP99Ms: percentile(late, 0.99),
    generatorBusy: (cpu.user + cpu.system) / 1000 / ms,
  }
}

const cpuOf = (pids: RevocationPlan['pids']): Record<string, number> =>
  Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, treeCpuSeconds(pid)]))

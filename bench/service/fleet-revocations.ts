import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from '../harness/statistics.ts'
import { type Asking, type Ear, FleetNode } from './fleet-node.ts'
import { pull, type Trigger } from './fleet-trigger.ts'
import { postgresCpuSeconds } from './postgres-cpu.ts'

export type RevocationPlan = Asking & {
  nodes: number
  revocations: readonly { keyId: string; trigger: Trigger }[]
  /** Over which the revocations of a polling fleet are spread evenly. A held one hears of each before the next. */
  seconds: number
  /** Processes whose CPU time is taken, children included. */
  pids: Readonly<Record<string, number>>
}

export type RevocationCounts = {
  /** From the answer to a revocation until a node has applied it, over all nodes and revocations. */
  p99Ms: number
  maxMs: number
  /** How often a node has learnt of a revocation: nodes times revocations, when all is well. */
  learned: number
  /** Of the time from the first revocation until the last node has heard of the last. */
  pollsPerSecond: number
  cores: Record<string, number>
  /** Answers of 503 from the first revocation on; whoever gets one asks again. */
  refused: number
  /** What went wrong, the first few of it. */
  wrong: string[]
  /** How late the fleet itself was to poll. */
  lateP99Ms: number
  /** Share of its core that the fleet used, 0 to 1. */
  generatorBusy: number
}

const connectAtOnce = 100
/** After all know: until every node of a held fleet is held again. */
const settleMs = 1_000
const wrongsTold = 3
/** Intervals. Beyond them a node that still has not heard counts as one that never will. */
const patience = 12

/** Runs a fleet, revokes, and takes the time until each node refuses. All on one clock, in one process. */
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
  /** False when it takes too long, or something was wrong already. */
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
    const told = await pull(trigger)
    revokedAt.push(told.at)
    refused += told.refused
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
      // A node may hear of it before the caller does.
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
  Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, postgresCpuSeconds(pid)]))

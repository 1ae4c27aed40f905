import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type Api, openApi, Unanswered } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import { until } from './pauses.ts'
import { makeDrillScene } from './scene.ts'
import { type DrilledService, startDrilledService } from './service.ts'

/** What the drill kills under the load of checks. */
export const faults = ['the service', 'its connections', 'Postgres'] as const
type Fault = (typeof faults)[number]

interface CounterFigures {
  cycles: number
  allowed: number
  unanswered: number
  /** How many allowed requests the counter misses; only a crash of Postgres may lose any. */
  forgotten: number
}

export interface CounterOutcome {
  figures: Map<Fault, CounterFigures>
  broken: string[]
  serverVersion: string
}

/** So high that no check is refused, in a window longer than the drill. */
const limit = {
  id: 'drill',
  limit: 1_000_000_000,
  window_ms: 2_678_400_000,
  algorithm: 'fixed',
  scope: 'key',
}
/** Checks that must be allowed before a kill, and again after it. */
const checksEach = 200
/** How much a crash of Postgres may lose, by promise. */
const forgetMs = 1_000

/** @param meddle how many the drill adds to the requests that it counts as allowed; a test of the drill itself. */
export async function runCounterCrashes({
  cycles,
  clients = 16,
  signal,
  say = () => {},
  meddle = 0,
}: {
  cycles: number
  clients?: number
  signal?: AbortSignal
  say?: (line: string) => void
  meddle?: number
}): Promise<CounterOutcome> {
  const cluster = await startDrillCluster({ durable: true })
  const figures = new Map<Fault, CounterFigures>()
  const broken: string[] = []
  const services: DrilledService[] = []
  try {
    for (let i = 0; i < 2; i++) services.push(await startDrilledService(cluster.connection))
    const api = openApi((services[0] as DrilledService).url)
    const { live, projectId } = await makeDrillScene(api)
    api.close()
    for (let cycle = 0; cycle < cycles * faults.length && !signal?.aborted; cycle++) {
      const fault = faults[cycle % faults.length] as Fault
      say(`cycle ${cycle + 1} of ${cycles * faults.length}: ${fault}`)
      const body = { project_id: projectId, env: 'live', key_id: randomUUID(), limits: [limit] }
      const load = startLoad(services, live, body, clients)
      await load.more(checksEach)
      const crashedAt = performance.now()
      await strike(fault, cluster, services)
      await load.more(checksEach)
      const { allowedAt, unanswered } = await load.stop()
      const allowed = allowedAt.length + meddle
      const counted = await countOf(services, live, body)
      const mayForget =
        fault === 'Postgres'
          ? allowedAt.filter(at => at > crashedAt - forgetMs && at <= crashedAt + 100).length
          : 0
      const known = figures.get(fault) ?? { cycles: 0, allowed: 0, unanswered: 0, forgotten: 0 }
      figures.set(fault, {
        cycles: known.cycles + 1,
        allowed: known.allowed + allowed,
        unanswered: known.unanswered + unanswered,
        forgotten: known.forgotten + Math.max(0, allowed - counted),
      })
      if (allowedAt.length === 0) broken.push(`cycle ${cycle + 1}: no check was allowed`)
      if (counted < allowed - mayForget || counted > allowed + unanswered) {
        broken.push(
          `cycle ${cycle + 1}, ${fault}: ${allowed} allowed, ${unanswered} unanswered, and the counter has ${counted}`,
        )
      }
    }
    return { figures, broken, serverVersion: cluster.serverVersion }
  } finally {
    for (const service of services) await service.kill()
    await cluster.remove()
  }
}

type Body = Record<string, unknown>

/** Clients that call the processes in turn, and continue after any error. */
function startLoad(services: DrilledService[], token: string, body: Body, clients: number) {
  const allowedAt: number[] = []
  let unanswered = 0
  let isOver = false
  const client = async (number: number) => {
    for (let turn = number; !isOver; turn++) {
      const api: Api = openApi((services[turn % services.length] as DrilledService).url)
      try {
        for (let i = 0; i < 20 && !isOver; i++) {
          const { status, body: verdict } = await api.ask('POST', '/v1/ratelimit/check', { token, body })
          if (status === 200 && verdict.allowed === true) allowedAt.push(performance.now())
          // It may have been charged before its answer was lost.
          else unanswered += 1
        }
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error
        unanswered += 1
        await sleep(20)
      } finally {
        api.close()
      }
    }
  }
  const running = Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  return {
    /** Until that many more checks were allowed. */
    async more(count: number) {
      const least = allowedAt.length + count
      await until('allowed checks', () => allowedAt.length >= least)
    },
    async stop() {
      isOver = true
      await running
      return { allowedAt, unanswered }
    },
  }
}

async function strike(fault: Fault, cluster: ScratchCluster, services: DrilledService[]): Promise<void> {
  if (fault === 'the service') {
    await services[0]?.kill()
    services[0] = await startDrilledService(cluster.connection)
  } else if (fault === 'its connections') {
    const client: pg.Client = await connectDirectly(cluster)
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'keyrail lane ratelimit'`,
    )
    await client.end()
  } else {
    process.kill(cluster.pid, 'SIGKILL')
    await cluster.restart()
  }
}

/** The counter's value, from a check that charges nothing, once the store answers again. */
async function countOf(services: DrilledService[], token: string, body: Body): Promise<number> {
  const api = openApi((services[1] as DrilledService).url)
  try {
    for (let attempt = 0; ; attempt++) {
      const { status, body: verdict } = await api.ask('POST', '/v1/ratelimit/check', {
        token,
        body: { ...body, cost: 0 },
      })
      if (status === 200) return limit.limit - verdict.limits[0].remaining
      if (attempt === 100) throw new Error(`the service answers ${status} long after`)
      await sleep(100)
    }
  } finally {
    api.close()
  }
}

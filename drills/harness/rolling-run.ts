import { type Kind, startLoad } from '../../deploy/proxy-load.ts'
import {
  type Balancer,
  bootstrapToken,
  startHaproxy,
  startNginx,
  startProcesses,
} from '../../deploy/proxy-stage.ts'
import { until } from '../../packages/server/test/until.ts'
import { makeScene } from '../../packages/server/test/vendor.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import type { DrillOptions } from './drill.ts'

export interface Rolling {
  readonly proxies: { name: string; counts: Record<Kind, number>; acknowledged: number }[]
  readonly restarts: number
  /** How many connections the processes had open together at most, of the 100 of a default Postgres. */
  readonly connections: number
  readonly broken: string[]
  readonly serverVersion: string
}

/** Restarts each of three processes in turn, as often as there are cycles, while both proxies send them requests. */
export async function runRolling({
  cycles,
  signal,
  say = () => {},
}: { cycles: number } & Partial<Pick<DrillOptions, 'signal' | 'say'>>): Promise<Rolling> {
  const cluster = await startDrillCluster({ durable: false })
  const opened: Balancer[] = []
  const watch = await watchConnections(cluster)
  const { processes, remove } = await startProcesses(cluster.connection)
  try {
    const ports = processes.map(({ port }) => port)
    for (const start of [startNginx, startHaproxy]) opened.push(await start(ports))
    const scene = await makeScene((opened[0] as Balancer).ask, bootstrapToken)
    const loads = opened.map(proxy => ({ proxy, load: startLoad(proxy.ask, scene) }))
    const broken: string[] = []
    let restarts = 0
    for (let cycle = 1; cycle <= cycles && !signal?.aborted; cycle += 1) {
      for (const process of processes) {
        say(`cycle ${cycle} of ${cycles}, ${restarts} restarts`)
        const log = await process.restart()
        restarts += 1
        if (log.includes('cut off')) broken.push(`restart ${restarts}: requests were cut off`)
        // It takes part again before the next one stops.
        for (const { name } of opened)
          await until(() => process.log().includes(`"user_agent":"through-${name}"`), `${name} sends to it`)
      }
    }
    await Promise.all(loads.map(({ load }) => load.quieten()))
    for (const { proxy, load } of loads) {
      broken.push(...(await load.end()).map(line => `${proxy.name}, ${line}`))
      const missed = load.counts.waits - load.acknowledged()
      if (missed > 0) broken.push(`${proxy.name}: ${missed} revocations were not acknowledged in time`)
    }
    return {
      proxies: loads.map(({ proxy: { name }, load }) => ({
        name,
        counts: load.counts,
        acknowledged: load.acknowledged(),
      })),
      restarts,
      connections: watch.most(),
      broken,
      serverVersion: cluster.serverVersion,
    }
  } finally {
    for (const proxy of opened) await proxy.close()
    await remove()
    await watch.end()
    await cluster.remove()
  }
}

const lookMs = 100

async function watchConnections(cluster: ScratchCluster): Promise<{ most(): number; end(): Promise<void> }> {
  const client = await connectDirectly(cluster)
  let most = 0
  const look = async () => {
    const { rows } = await client.query(
      `select count(*) as open from pg_stat_activity where application_name like 'keyrail %'`,
    )
    most = Math.max(most, Number(rows[0].open))
  }
  let looking = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, lookMs)
  return {
    most: () => most,
    async end() {
      clearInterval(timer)
      await looking
      await client.end()
    },
  }
}

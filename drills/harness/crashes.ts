import type pg from 'pg'
import { seeded } from '../../packages/server/test/seeded.ts'
import { type Api, openApi } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import { startHttpRelay } from './http-relay.ts'
import { type Diff, diffLoad } from './ledger.ts'
import { startLoad } from './load.ts'
import { installPauses, until } from './pauses.ts'
import { setTrap } from './points.ts'
import { startPostgresRelay } from './postgres-relay.ts'
import { makeDrillScene } from './scene.ts'
import { type DrilledService, startDrilledService } from './service.ts'

/** What is killed: the service, every connection it has, or Postgres itself. */
export const victims = ['server', 'backends', 'postmaster'] as const
export type Victim = (typeof victims)[number]

export interface Crash {
  cycle: number
  point: string
  victim: Victim
}

export interface PointTally extends Omit<Diff, 'broken'> {
  cycles: Record<Victim, number>
  /** Acknowledged, but missing or present more than once. */
  lost: number
  broken: number
}

export interface CrashOptions {
  seed: number
  clients: number
  /** With fsync, as in production. */
  durable: boolean
  /** More settings of Postgres. */
  settings?: Record<string, string | number>
  signal?: AbortSignal
  say(line: string): void
}

/** Workspaces that the clients share; they compete for the head of each audit chain. */
const scenesEach = 4

/**
 * Kills the victim in the middle of a load, cycle by cycle, and compares the database with the answers that the clients
 * got.
 */
export async function runCrashes(
  crashes: readonly Crash[],
  { seed, clients, durable, settings = {}, signal, say }: CrashOptions,
): Promise<{ tallies: Map<string, PointTally>; notes: string[]; broken: string[] }> {
  const started = performance.now()
  const stage = await setStage(durable, settings)
  const tallies = new Map<string, PointTally>()
  const broken: string[] = []
  let cycles = 0
  try {
    for (const crash of crashes) {
      if (signal?.aborted) break
      const diff = await runCrash(stage, crash, { seed, clients }).catch(error => {
        // A Ctrl-C at the terminal also ends the stage's service: this cycle proves nothing.
        if (signal?.aborted) return null
        throw error
      })
      if (diff === null) break
      const tally = tallies.get(crash.point) ?? emptyTally()
      tallies.set(crash.point, tally)
      addTo(tally, crash.victim, diff)
      cycles += 1
      const { cycle, point, victim } = crash
      broken.push(...diff.broken.map(line => `cycle ${cycle}, ${victim} killed ${point}: ${line}`))
      say(`${cycle + 1}/${crashes.length} ${point}, ${victim}: ${broken.length} broken`)
    }
  } finally {
    await stage.close()
  }
  const seconds = Math.round((performance.now() - started) / 1000)
  const notes = [
    `${cycles} cycles${cycles < crashes.length ? ` of ${crashes.length}, broken off` : ''}, ${clients} clients, Postgres ${stage.cluster.serverVersion}, fsync ${durable ? 'on' : 'off'}, ${seconds} s`,
  ]
  return { tallies, notes, broken }
}

interface Stage {
  cluster: ScratchCluster
  client: pg.Client
  service: DrilledService
  api: Api
  postgresRelay: Awaited<ReturnType<typeof startPostgresRelay>>
  httpRelay: Awaited<ReturnType<typeof startHttpRelay>>
  close(): Promise<void>
}

async function setStage(durable: boolean, settings: Record<string, string | number>): Promise<Stage> {
  const cluster = await startDrillCluster({ durable, settings })
  const client = await connectDirectly(cluster)
  await installPauses(client)
  // The stage's own rows are durable, even if Postgres delays others.
  await client.query('checkpoint')
  const postgresRelay = await startPostgresRelay(cluster.connection)
  const service = await startDrilledService(postgresRelay.connection)
  const stage: Stage = {
    cluster,
    client,
    service,
    postgresRelay,
    httpRelay: await startHttpRelay(() => stage.service.url),
    api: openApi(''),
    async close() {
      stage.api.close()
      await stage.service.kill()
      await stage.httpRelay.close()
      await postgresRelay.close()
      await stage.client.end()
      await cluster.remove()
    },
  }
  stage.api = openApi(stage.httpRelay.url)
  return stage
}

async function runCrash(
  stage: Stage,
  { cycle, point, victim }: Crash,
  { seed, clients }: { seed: number; clients: number },
): Promise<Diff> {
  const { api } = stage
  const prefix = `c${cycle}`
  const scenes = []
  for (let i = 0; i < scenesEach; i += 1) scenes.push(await makeDrillScene(api))
  const load = startLoad(api, scenes, { clients, prefix, seed: seed + cycle })
  const before = clients * (1 + seeded(seed + cycle).integer(4))
  await until('the clients’ first mutations', () => load.acknowledged() >= before)

  const trap = await setTrap(point, { ...stage, pending: load.pending })
  await until(`a mutation ${point}`, async () => (await trap.caught()) > 0)
  const stopped = load.stop()
  await kills[victim](stage, trap.open, stopped)
  await until('the service’s readiness', async () => {
    const { status } = await api.ask('GET', '/readyz').catch(() => ({ status: 0 }))
    return status === 200
  })

  const workspaceIds = scenes.map(scene => scene.workspaceId)
  const diff = await diffLoad(api, stage.client, { sent: load.sent, prefix, workspaceIds })
  for (const { live, workspaceId } of scenes) {
    const { status, body } = await api.ask('GET', '/v1/audit_logs/chain', { token: live })
    if (status !== 200 || body.valid !== true)
      diff.broken.push(`chain of ${workspaceId}: ${JSON.stringify(body)}`)
  }
  return diff
}

/** Each kills, releases the trap, and leaves a service that answers, without any remains of the old one at work. */
const kills: Record<
  Victim,
  (stage: Stage, open: () => Promise<void>, stopped: Promise<void>) => Promise<void>
> = {
  async server(stage, open, stopped) {
    await stage.service.kill()
    await stopped
    await open()
    // Statements that the dead server had sent are still executed, the commit included.
    await until(
      'the end of the statements that were sent',
      async () => (await backendsOf(stage.client)).length === 0,
    )
    stage.service = await startDrilledService(stage.postgresRelay.connection)
  },
  async backends(stage, open, stopped) {
    const killed = await backendsOf(stage.client)
    await stage.client.query('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [killed])
    await until('the end of the backends', async () => {
      const alive = await backendsOf(stage.client)
      return !killed.some(pid => alive.includes(pid))
    })
    await open()
    await stopped
  },
  async postmaster(stage, open, stopped) {
    process.kill(stage.cluster.pid, 'SIGKILL')
    await stage.cluster.restart()
    stage.client = await connectDirectly(stage.cluster)
    await open().catch(() => {})
    await stopped
  },
}

async function backendsOf(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query(
    `select pid from pg_stat_activity where application_name like 'keyrail %'`,
  )
  return rows.map(row => row.pid)
}

const emptyTally = (): PointTally => ({
  cycles: { server: 0, backends: 0, postmaster: 0 },
  acknowledged: 0,
  lost: 0,
  unacknowledged: 0,
  happened: 0,
  replayed: 0,
  broken: 0,
})

function addTo(tally: PointTally, victim: Victim, diff: Diff): void {
  tally.cycles[victim] += 1
  tally.acknowledged += diff.acknowledged
  tally.lost += diff.lost
  tally.unacknowledged += diff.unacknowledged
  tally.happened += diff.happened
  tally.replayed += diff.replayed
  tally.broken += diff.broken.length
}

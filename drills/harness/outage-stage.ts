import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { makeScene, type Scene } from '../../packages/server/test/mutations.ts'
import { type Api, openApi, plainly } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import type { Sent } from './load.ts'
import { startPostgresRelay } from './postgres-relay.ts'
import { bootstrapToken, type DrilledService, startDrilledService } from './service.ts'
import { mountSmallDisk, type SmallDisk } from './small-disk.ts'

/** All that an outage may do something to. */
export interface OutageStage {
  cluster: ScratchCluster
  /** The disk that the cluster lies on, where it has one of its own. */
  disk: SmallDisk | null
  /** Between the service and Postgres. */
  relay: Awaited<ReturnType<typeof startPostgresRelay>>
  service: DrilledService
  api: Api
  /** Workspaces for the load. */
  scenes: Scene[]
  /** Mutations that the outage itself has sent; they are judged like the load's. */
  aside: Promise<Sent>[]
  /** A direct connection, opened anew when Postgres was away. */
  reconnect(): Promise<pg.Client>
  close(): Promise<void>
}

/** The service's pool, and how many connections Postgres takes at all. */
const poolSize = 10
const connectionsMost = 40

export async function setOutageStage(onSmallDisk: boolean): Promise<OutageStage> {
  const disk = onSmallDisk ? mountSmallDisk() : null
  const cluster = await startDrillCluster({
    durable: disk === null,
    ...(disk && { directory: disk.directory }),
    settings: { max_connections: connectionsMost, min_wal_size: '32MB', max_wal_size: '48MB' },
  })
  const relay = await startPostgresRelay(cluster.connection)
  const service = await startDrilledService(relay.connection, {
    env: { SERVICE_DATABASE_POOL: String(poolSize) },
  })
  const api = openApi(service.url)
  const scenes = []
  for (let i = 0; i < 4; i += 1) scenes.push(await makeScene(plainly(api), bootstrapToken))
  let client: pg.Client | null = null
  return {
    cluster,
    disk,
    relay,
    service,
    api,
    scenes,
    aside: [],
    async reconnect() {
      await client?.end().catch(() => {})
      client = await connectDirectly(cluster)
      return client
    },
    async close() {
      api.close()
      await service.kill()
      await relay.close()
      await client?.end().catch(() => {})
      await cluster.remove()
      if (disk === null) return
      rmSync(join(disk.directory), { recursive: true, force: true })
      disk.unmount()
    },
  }
}

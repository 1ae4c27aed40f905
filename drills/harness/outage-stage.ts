import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { mountSmallDisk, type SmallDisk } from '../../packages/server/test/small-disk.ts'
import type { Scene } from '../../packages/server/test/vendor.ts'
import { type Api, openApi } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import type { Sent } from './load.ts'
import { startPostgresRelay } from './postgres-relay.ts'
import { makeDrillScene } from './scene.ts'
import { type DrilledService, startDrilledService } from './service.ts'

/** Everything that an outage may affect. */
export interface OutageStage {
  cluster: ScratchCluster
  /** The cluster's disk, where it has a separate one. */
  disk: SmallDisk | null
  /** Between the service and Postgres. */
  relay: Awaited<ReturnType<typeof startPostgresRelay>>
  service: DrilledService
  api: Api
  /** Workspaces for the load. */
  scenes: Scene[]
  /** Mutations that the outage itself has sent; they are judged like the load's. */
  aside: Promise<Sent>[]
  /** A direct connection, opened again when Postgres was away. */
  reconnect(): Promise<pg.Client>
  close(): Promise<void>
}

/** The service's pool, and how many connections Postgres accepts in all. */
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
  for (let i = 0; i < 4; i += 1) scenes.push(await makeDrillScene(api))
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

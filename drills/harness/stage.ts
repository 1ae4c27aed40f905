import type pg from 'pg'
import type { Scene } from '../../packages/server/test/vendor.ts'
import { type Api, openApi } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import { makeDrillScene } from './scene.ts'
import { type DrilledService, startDrilledService } from './service.ts'

/** A cluster, the service on it, an API client, a direct connection, and a workspace with some resources. */
export interface Stage {
  cluster: ScratchCluster
  service: DrilledService
  api: Api
  client: pg.Client
  scene: Scene
}

/** Sets one up for the duration of the work. */
export async function onStage<T>(work: (stage: Stage) => Promise<T>): Promise<T> {
  const cluster = await startDrillCluster({ durable: false })
  try {
    const client = await connectDirectly(cluster)
    const service = await startDrilledService(cluster.connection)
    const api = openApi(service.url)
    try {
      return await work({
        cluster,
        service,
        api,
        client,
        scene: await makeDrillScene(api),
      })
    } finally {
      api.close()
      await service.kill()
      await client.end()
    }
  } finally {
    await cluster.remove()
  }
}

import type pg from 'pg'
import { makeScene, type Scene } from '../../packages/server/test/mutations.ts'
import { type Api, openApi, plainly } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import { bootstrapToken, type DrilledService, startDrilledService } from './service.ts'

/** A cluster, the service on it, a way to ask it, a direct connection, and a workspace with something in it. */
export interface Stage {
  cluster: ScratchCluster
  service: DrilledService
  api: Api
  client: pg.Client
  scene: Scene
}

/** Sets one up for as long as the work takes. */
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
        scene: await makeScene(plainly(api), bootstrapToken),
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

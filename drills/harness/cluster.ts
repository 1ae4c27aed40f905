import pg from 'pg'
import { migrate } from '../../packages/server/src/platform/db/migrate/migrate.ts'
import { type ScratchCluster, startScratchCluster } from '../../packages/server/test/scratch.ts'

export type { ScratchCluster }

/** A cluster for one drill, with the newest schema. `durable`: with fsync, as in production. */
export async function startDrillCluster({
  durable,
  directory,
  settings = {},
}: {
  durable: boolean
  directory?: string
  settings?: Record<string, string | number | boolean>
}): Promise<ScratchCluster> {
  const cluster = await startScratchCluster({
    ...(directory !== undefined && { directory }),
    settings: { fsync: durable, full_page_writes: durable, max_connections: 100, ...settings },
  })
  await migrate(cluster.connection)
  return cluster
}

/** A connection of the drill itself, past every relay. Reads bigint as a number. */
export async function connectDirectly(cluster: ScratchCluster, database?: string): Promise<pg.Client> {
  const client = new pg.Client({
    ...cluster.connection,
    ...(database !== undefined && { database }),
    application_name: 'drill',
    types: { getTypeParser: bigintAsNumber } as pg.CustomTypesConfig,
  })
  // It ends with the cluster, which a drill stops on purpose.
  client.on('error', () => {})
  await client.connect()
  return client
}

const int8 = 20
const bigintAsNumber = (oid: number, format?: 'text' | 'binary') =>
  oid === int8 ? Number : pg.types.getTypeParser(oid, format)

import { join } from 'node:path'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { type ScratchPostgres, scratchPostgres } from '../harness/scratch-postgres.ts'
import { freePort, type ServerProcess, spawnServer } from '../harness/spawn-server.ts'

export const bootstrapToken = 'bootstrap-token-of-the-benches-0123456789'

/** A fresh durable Postgres with the schema of the service. */
export async function migratedPostgres(): Promise<ScratchPostgres> {
  const postgres = await scratchPostgres()
  try {
    await migrate(postgres.connection)
    return postgres
  } catch (error) {
    await postgres.close()
    throw error
  }
}

export type Keyrail = ServerProcess & { url: string }

/**
 * The service in a process of its own on the server's core, logging to /dev/null as in every arm.
 *
 * @param port a free one, unless given
 */
export async function startKeyrail(
  { url: databaseUrl }: ScratchPostgres,
  { audit = true, port, nodeArgs = [] }: { audit?: boolean; port?: number; nodeArgs?: string[] } = {},
): Promise<Keyrail> {
  const chosen = port ?? (await freePort())
  const url = `http://127.0.0.1:${chosen}`
  const server = await spawnServer({
    script: join(import.meta.dirname, 'serve.ts'),
    args: audit ? [] : ['--without-audit'],
    nodeArgs,
    env: {
      DATABASE_URL: databaseUrl,
      SERVICE_PORT: String(chosen),
      SERVICE_BOOTSTRAP_TOKEN: bootstrapToken,
    },
    ready: { url: `${url}/readyz` },
  })
  return { ...server, url }
}

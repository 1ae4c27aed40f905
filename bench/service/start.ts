import { join } from 'node:path'
import { migrate } from '../../packages/server/src/platform/db/migrate/migrate.ts'
import { encryptionKey } from '../../packages/server/test/encryption-key.ts'
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

interface KeyrailOptions {
  audit?: boolean
  /** The workspace of every caller on the request path. */
  openTo?: string
  port?: number
  nodeArgs?: string[]
  env?: Readonly<Record<string, string>>
}

/**
 * The service in its own process on the server's core, logging to /dev/null as in every arm.
 *
 * @param port by default a free one
 */
export async function startKeyrail(
  { url: databaseUrl }: ScratchPostgres,
  { audit = true, openTo, port, nodeArgs = [], env = {} }: KeyrailOptions = {},
): Promise<Keyrail> {
  const chosen = port ?? (await freePort())
  const url = `http://127.0.0.1:${chosen}`
  const server = await spawnServer({
    script: join(import.meta.dirname, 'serve.ts'),
    args: [...(audit ? [] : ['--without-audit']), ...(openTo ? ['--open-to', openTo] : [])],
    nodeArgs,
    env: {
      DATABASE_URL: databaseUrl,
      SERVICE_ENCRYPTION_KEY: encryptionKey,
      SERVICE_PORT: String(chosen),
      SERVICE_BOOTSTRAP_TOKEN: bootstrapToken,
      ...env,
    },
    ready: { url: `${url}/readyz` },
  })
  return { ...server, url }
}

import type { Config } from '../../config.ts'
import type { Connection } from '../../platform/db/connection.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { type GivenKeys, requireKeys } from '../encryption-key.ts'
import type { BootstrapToken } from './bootstrap-token.ts'

interface Secrets {
  readonly direct: Connection
  readonly bootstrap: BootstrapToken | 'set' | 'off'
}

/** The settings with the secrets that the data directory has. */
export async function completeConfig(
  config: Config,
  { direct, bootstrap }: Secrets,
  log: Pick<Logger, 'warn'>,
): Promise<Config> {
  const { keys, path, isNew }: GivenKeys = await requireKeys(config, direct)
  if (isNew) log.warn({ path }, 'encryption key made: keep a copy, apart from backups')
  const bootstrapToken = typeof bootstrap === 'string' ? config.bootstrapToken : bootstrap.token
  return { ...config, bootstrapToken, encryptionKeys: keys }
}

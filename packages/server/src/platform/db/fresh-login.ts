import pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { readValueFile } from '../files/value-file.ts'
import { splitHosts } from './failover/host-list.ts'

/** What a URL says about its server, or about the first of several. */
export const parseAddress = (url: string): pg.ClientConfig =>
  parseIntoClientConfig(splitHosts(url)?.first ?? url)

type Config = pg.ClientConfig & { readonly urlFile?: string }

/**
 * A connection with the login that the file has now: user, password and certificates. The server stays the one of the process's
 * start, since another server would be another database.
 */
export function withFreshLogin<C extends Config>(config: C): C {
  const url = config.urlFile === undefined ? null : readValueFile(config.urlFile)
  if (url === null) return config
  try {
    const { user, password, ssl } = parseAddress(url)
    return { ...config, user, password, ssl }
  } catch {
    // The file is half written, or has a fault that the next start reports.
    return config
  }
}

/** A client that reads its login, when it is made, from the file of the URL, if there is one. */
export class FreshClient extends pg.Client {
  constructor(config: Config) {
    super(withFreshLogin(config))
  }
}

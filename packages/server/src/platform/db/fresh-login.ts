import pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { readValueFile } from '../files/value-file.ts'
import { splitHosts } from './failover/host-list.ts'

/** What a URL says of its server, or of the first of several. */
export const parseAddress = (url: string): pg.ClientConfig =>
  parseIntoClientConfig(splitHosts(url)?.first ?? url)

type Config = pg.ClientConfig & { readonly urlFile?: string }

/**
 * A connection with the login that its file has now: user, password and certificates. Where the server is, the process knows from
 * its start on, since another one would be another database.
 */
export function withFreshLogin<C extends Config>(config: C): C {
  const url = config.urlFile === undefined ? null : readValueFile(config.urlFile)
  if (url === null) return config
  try {
    const { user, password, ssl } = parseAddress(url)
    return { ...config, user, password, ssl }
  } catch {
    // Half written, or a fault that the next start names.
    return config
  }
}

/** A client that takes its login from the file of the URL, if there is one, each time one is made. */
export class FreshClient extends pg.Client {
  constructor(config: Config) {
    super(withFreshLogin(config))
  }
}

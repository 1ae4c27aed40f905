import pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'

/** Where a Postgres is: an outside one by URL, the embedded one by its socket. */
export type Connection = pg.ClientConfig

export const connectionFromUrl = (url: string): Connection => parseIntoClientConfig(url)

/** A connection as a thread can be sent it, which takes no function. */
export interface PortableConnection {
  connection: Connection
  /** `sslmode=verify-ca` asks for the authority alone: the function that its URL leaves here looks at no name. */
  anyServerName: boolean
}

export function toPortable(connection: Connection): PortableConnection {
  const { ssl } = connection
  if (typeof ssl !== 'object' || ssl.checkServerIdentity === undefined)
    return { connection, anyServerName: false }
  const { checkServerIdentity: _, ...plain } = ssl
  return { connection: { ...connection, ssl: plain }, anyServerName: true }
}

export function fromPortable({ connection, anyServerName }: PortableConnection): Connection {
  if (!anyServerName || typeof connection.ssl !== 'object') return connection
  return { ...connection, ssl: { ...connection.ssl, checkServerIdentity: () => undefined } }
}

const int8 = 20

/** bigint as a number: versions and sequences stay far below 2^53. Times stay Dates, to the millisecond. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format)) as never,
}

/** How long a request's work may wait for a connection, and how long work that no request waits for. */
const connectMs = { ofRequests: 1_500, ofStarts: 15_000 }

/** Options that every connection of the service shares. `pipeline`: statements are sent without waiting for each other. */
export function clientConfig(connection: Connection, name: string): pg.ClientConfig & { pipeline: true } {
  return {
    ...connection,
    application_name: `keyrail ${name}`,
    connectionTimeoutMillis: connectMs.ofRequests,
    keepAlive: true,
    pipeline: true,
    types,
  }
}

/** A statement with the name it is prepared under, at most 63 bytes, `room.verb`. */
export interface Statement {
  readonly name: string
  readonly text: string
}

export const sql = (name: string, text: string): Statement => ({ name, text })

/** A connection of one's own, for a lane or a long read. The caller ends it. */
export const connect = (connection: Connection, name: string, pipeline = true): Promise<pg.Client> =>
  open({ ...clientConfig(connection, name), pipeline } as pg.ClientConfig)

/** As `connect`, for a process that starts: a Postgres that was started beside it is slow at first on a busy machine. */
export const connectAtStart = (connection: Connection, name: string): Promise<pg.Client> =>
  open({
    ...clientConfig(connection, name),
    pipeline: false,
    connectionTimeoutMillis: connectMs.ofStarts,
  } as pg.ClientConfig)

async function open(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config)
  // Without a listener a lost connection would end the process; its pending statements are told anyway.
  client.on('error', () => {})
  await client.connect()
  return client
}

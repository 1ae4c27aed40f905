import type { ErrorCode } from '@keyrail/contract/errors'
import pg from 'pg'
import { serviceBudgets } from '../budgets.ts'
import { type Host, nameOf, splitHosts } from './failover/host-list.ts'
import { ClientOfHosts } from './failover/hosts.ts'
import { FreshClient, parseAddress } from './fresh-login.ts'
import { failUnconfirmed } from './pool/unconfirmed.ts'

/**
 * How to reach a Postgres: an outside one by URL, the embedded one by its socket. `connectionTimeoutMillis` limits how long a
 * connection may take to open.
 */
export interface Connection extends pg.ClientConfig {
  /** Several servers, of which each connection takes the primary. `hosts` replaces `host` and `port`. */
  hosts?: readonly Host[]
  /**
   * The file with the URL. Each connection reads its login from the file, so that a password can be changed while the service
   * runs.
   */
  urlFile?: string
}

/**
 * The service sets the connect timeout, so a timeout in the URL is ignored.
 * @param urlFile the file that the URL was read from.
 */
export function connectionFromUrl(url: string, urlFile?: string): Connection {
  const split = splitHosts(url)
  return {
    ...parseAddress(url),
    ...(split !== null && { hosts: split.hosts }),
    ...(urlFile !== undefined && { urlFile }),
    connectionTimeoutMillis: undefined,
  }
}

/** The server's place, for messages. */
export const placeOf = ({ hosts, host = 'localhost', port = 5432 }: Connection): string =>
  hosts === undefined ? `${host}:${port}` : hosts.map(nameOf).join(', ')

/** The same server, with a limit for opening a connection, in ms. */
export const withConnectMs = (connection: Connection, connectMs: number): Connection => ({
  ...connection,
  connectionTimeoutMillis: connectMs,
})

export const connectMsOf = ({ connectionTimeoutMillis }: Connection): number =>
  connectionTimeoutMillis ?? serviceBudgets.connectMs

/** A connection in a form that can be sent to a thread: without functions. */
export interface PortableConnection {
  connection: Connection
  /** `sslmode=verify-ca` only checks the authority: a URL with this mode sets a function that accepts every name. */
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

/** Reads bigint as a number: versions and sequences stay far below 2^53. Times are Dates, to the millisecond. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format)) as never,
}

/** How long a connection may take to open when no request waits for it. */
const connectAtStartMs = 15_000

/** For a process that starts: a Postgres that starts at the same time is slow at first on a busy machine. */
export const patientAtStart = (connection: Connection): Connection =>
  withConnectMs(connection, connectAtStartMs)

/**
 * An idle connection is probed after this time, then each second; after ten probes without an answer it is closed. So a
 * vanished server is noticed before a request uses the connection, and no firewall forgets the connection (many do after 350
 * s).
 */
const keepAliveMs = 10_000

/**
 * Options that all connections of the service share. `pipeline`: statements are sent without waiting for each
 * other.
 */
export function clientConfig(connection: Connection, name: string): pg.ClientConfig & { pipeline: true } {
  return {
    ...connection,
    // The class that a pool makes its clients of.
    ...{ Client: clientOf(connection) },
    application_name: `keyrail ${name}`,
    connectionTimeoutMillis: connectMsOf(connection),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    pipeline: true,
    types,
  }
}

/**
 * The class of clients: one finds the primary of several hosts, the other knows its server. Both read the login from its file.
 */
const clientOf = ({ hosts }: Connection): typeof pg.Client =>
  hosts === undefined ? FreshClient : ClientOfHosts

/** The error code for each constraint that a well-formed request can violate. */
export type ConstraintRefusals = Readonly<Record<string, ErrorCode>>

/** A statement and the name under which it is prepared, `room.verb`, of at most 63 bytes. */
export interface Statement {
  readonly name: string
  readonly text: string
  /** Only a transaction reads the refusals; a lane does not. */
  readonly refusals: ConstraintRefusals
}

const noRefusals: ConstraintRefusals = {}
const texts = new Map<string, string>()
const names = new Map<string, string>()

/**
 * Declares a statement. The same statement may be declared again.
 * @throws if the name has another text, or the text another name: a connection that has prepared one could run it for the
 * other.
 */
export function sql(name: string, text: string, refusals = noRefusals): Statement {
  const [known, other] = [texts.get(name), names.get(text)]
  if (known !== undefined && known !== text) throw new Error(`two statements have the name ${name}`)
  if (other !== undefined && other !== name) throw new Error(`${other} and ${name} are the same statement`)
  texts.set(name, text)
  names.set(text, name)
  return { name, text, refusals }
}

/** Prepares a connection of the service for errors and warnings, which Postgres sends besides answers. */
export function prepareClient(client: pg.ClientBase): void {
  // Without a listener a lost connection would end the process. Pending statements fail anyway.
  client.on('error', () => {})
  failUnconfirmed(client)
}

/** Opens a separate connection, for a lane or a long read. The caller ends it. */
export async function connect(connection: Connection, name: string, pipeline = true): Promise<pg.Client> {
  const Client = clientOf(connection)
  const client = new Client({ ...clientConfig(connection, name), pipeline } as pg.ClientConfig)
  prepareClient(client)
  await client.connect()
  return client
}

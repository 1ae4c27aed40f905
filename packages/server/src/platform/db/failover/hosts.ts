import pg from 'pg'
import { withFreshLogin } from '../fresh-login.ts'
import { type Host, nameOf } from './host-list.ts'

export type HostState = Host & {
  readonly state: 'primary' | 'standby' | Error
  /** Only a primary has a timeline. Each promotion begins a higher one. */
  readonly timeline?: number
  /** When the server started: two hosts with the same time are two names of one server. */
  readonly startedAt?: string
}

/** No server of a list is the primary, or no server answers, or two servers are primaries. */
export class NoPrimary extends Error {
  override name = 'NoPrimary'
  /** SQLSTATE cannot_connect_now: the caller may try again. */
  readonly code = '57P03'
  constructor(states: readonly HostState[]) {
    super(`${whatIsWrong(states)}: ${states.map(describeHost).join('; ')}`)
  }
}

function whatIsWrong(states: readonly HostState[]): string {
  if (states.some(({ state }) => state === 'primary')) return 'two hosts of the list are primaries'
  // If each host refuses the login or is away, no host has said whether it is a primary.
  const isUnknown = states.every(({ state }) => state instanceof Error)
  return isUnknown ? 'no host of the list lets the service in' : 'no host of the list is a primary'
}

export const describeHost = (one: HostState): string =>
  one.state instanceof Error ? `${nameOf(one)}: ${one.state.message}` : `${nameOf(one)} is a ${one.state}`

type Config = pg.ClientConfig & { readonly hosts?: readonly Host[]; readonly urlFile?: string }

/** What the process knows of a list of hosts. Connections that open at the same time share one search. */
interface Known {
  last: Host | null
  /** The running searches, by how long they wait for a host, in ms. */
  readonly searches: Map<number, Promise<Host>>
}
const known = new WeakMap<readonly Host[], Known>()

/** The state of each host, in the order of the list. */
export const readHostStates = (config: Config): Promise<HostState[]> =>
  Promise.all((config.hosts ?? []).map(host => readState(config, host)))

/**
 * A connection to the primary. Before a connection opens, it asks the last known primary, and if that server is no primary any
 * more, all hosts: so no connection opens to a server that was replaced.
 */
export class ClientOfHosts extends pg.Client {
  readonly #config: Config

  constructor(config: Config) {
    const fresh = withFreshLogin(config)
    super(fresh)
    this.#config = fresh
  }

  override connect(): Promise<pg.Client>
  override connect(callback: Opened): void
  override connect(callback?: Opened): Promise<pg.Client> | undefined {
    const opened = this.#open()
    if (callback === undefined) return opened
    opened.then(client => (callback as OpenedTo)(null, client), callback as (error: Error) => void)
    return undefined
  }

  async #open(): Promise<pg.Client> {
    const found = await findPrimary(this.#config)
    const inner = this as unknown as Inner
    // A pool that has waited too long cuts the socket, and this connection would still open.
    if (inner.connection.stream.destroyed) throw new Error('Connection terminated')
    const { host, port } = found
    for (const part of [inner, inner.connectionParameters]) Object.assign(part, { host, port })
    await super.connect()
    return this
  }
}

type OpenedTo = (error: null, client: pg.Client) => void
type Opened = ((error: Error) => void) | OpenedTo

/** The driver reads the address when it connects. */
interface Inner extends Host {
  connectionParameters: Host
  connection: { stream: { destroyed: boolean } }
}

function findPrimary(config: Config): Promise<Host> {
  const { hosts = [] } = config
  const state: Known = known.get(hosts) ?? { last: null, searches: new Map() }
  known.set(hosts, state)
  // A search waits for a host as long as the first caller of the search may wait.
  const limit = config.connectionTimeoutMillis ?? 0
  const running = state.searches.get(limit)
  if (running !== undefined) return running
  const searching = search(config, state).finally(() => state.searches.delete(limit))
  state.searches.set(limit, searching)
  return searching
}

/**
 * Asks every host, even if the last known primary still says that it is a primary: another host may have been promoted later.
 * The next connection goes to the newest primary.
 */
export async function lookAtAllHosts(config: Config): Promise<void> {
  const last = newest(await readHostStates(config))
  const { hosts = [] } = config
  known.set(hosts, { searches: new Map(), ...known.get(hosts), last })
}

async function search(config: Config, known: Known): Promise<Host> {
  const { last } = known
  const { hosts = [] } = config
  const first = last === null ? null : await readState(config, last)
  if (last !== null && first?.state === 'primary') return last
  const others = await readHostStates({
    ...config,
    hosts: hosts.filter(one => last === null || nameOf(one) !== nameOf(last)),
  })
  const states = first === null ? others : [first, ...others]
  known.last = newest(states)
  return known.last
}

/**
 * The primary. If several hosts say that they are primaries, the one that was promoted last: an old primary that is started
 * again after its replacement still acts as primary, and lacks the commits of the new one.
 * @throws {NoPrimary} also if two hosts have the same timeline: either may be the right primary.
 */
function newest(states: readonly HostState[]): Host {
  const primaries = states.filter(({ state }) => state === 'primary')
  const highest = Math.max(...primaries.map(({ timeline = 0 }) => timeline))
  const [one, ...others] = primaries.filter(({ timeline = 0 }) => timeline === highest)
  if (one === undefined || others.some(({ startedAt }) => startedAt !== one.startedAt))
    throw new NoPrimary(states)
  return { host: one.host, port: one.port }
}

/** The timeline is in hexadecimal, as in the names of the log's files. A standby follows the timeline of its primary. */
const askState = `select pg_is_in_recovery() as is_standby, pg_postmaster_start_time()::text as started_at,
  case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`

async function readState(config: Config, { host, port }: Host): Promise<HostState> {
  const client = new pg.Client({
    ...config,
    // A pool hides the password from copies of its options.
    password: config.password,
    host,
    port,
    application_name: 'keyrail hosts',
    query_timeout: config.connectionTimeoutMillis,
  })
  // Without a listener a lost connection would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query(askState)
    const [{ is_standby, timeline, started_at: startedAt }] = rows
    if (is_standby) return { host, port, state: 'standby' }
    return { host, port, state: 'primary', timeline: Number.parseInt(timeline, 16), startedAt }
  } catch (error) {
    return { host, port, state: error instanceof Error ? error : new Error(String(error)) }
  } finally {
    client.end().catch(() => {})
  }
}

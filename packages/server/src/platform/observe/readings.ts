import type pg from 'pg'
import { type Connection, connect } from '../db/connection.ts'
import { destroySocket } from '../db/pool/destroy-socket.ts'
import type { Logger } from './log.ts'
import type { Metrics, Sample } from './metrics.ts'

/** Figures of all workspaces together, which one query at each scrape reads from the database. */
export interface Reading {
  readonly figures: readonly Figure[]
  /** Reads the figures as the role that owns the tables. @returns samples by the names of the figures. */
  read(client: pg.ClientBase): Promise<Readonly<Record<string, readonly Sample[]>>>
}

interface Figure {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
}

interface ReadingsParts {
  readonly connection: Connection
  readonly readings: readonly Reading[]
  readonly metrics: Pick<Metrics, 'watch' | 'beforeScrape'>
  readonly log: Logger
}

/** Prometheus gives a scrape 10 s. If the database takes longer than this, its figures are left out. */
const readMs = 3_000

/**
 * Shows the figures, and whether the database answered. A figure that cannot be read is left out; an old one is never shown.
 * Each scrape opens a connection: this proves that the database accepts new connections, and holds none in between.
 */
export function watchStore({ connection, readings, metrics, log }: ReadingsParts): void {
  let samples: Record<string, readonly Sample[]> = {}
  let running: Promise<void> | null = null
  const all: Figure[] = [up, ...readings.flatMap(({ figures }) => figures)]
  for (const { name, help, labels = [] } of all)
    metrics.watch({ name, help, labels, gathered: 'first', read: () => samples[name] ?? [] })

  const read = async () => {
    let client: pg.Client | null = null
    const next: typeof samples = { [up.name]: [{ value: 0 }] }
    const timer = setTimeout(() => client !== null && destroySocket(client), readMs)
    try {
      client = await connect(connection, 'metrics', false)
      await client.query(`set statement_timeout = ${readMs}`)
      next[up.name] = [{ value: 1 }]
      for (const reading of readings) await readOne(client, reading, next)
    } catch {
      // `keyrail_database_up` shows the failure.
    } finally {
      clearTimeout(timer)
      await client?.end().catch(() => {})
    }
    samples = next
  }
  const readOne = async (client: pg.Client, reading: Reading, into: typeof samples) => {
    try {
      Object.assign(into, await reading.read(client))
    } catch (error) {
      // Later figures can still be read, unless the connection is lost.
      log.warn({ err: error, figures: reading.figures.map(({ name }) => name) }, 'figures could not be read')
    }
  }
  metrics.beforeScrape(async () => {
    // Scrapes at the same time share the connection.
    running ??= read().finally(() => {
      running = null
    })
    await running
  }, 'first')
}

const up: Figure = {
  name: 'keyrail_database_up',
  help: '1 when the database took a connection and answered, 0 when not.',
}

/**
 * Whether the address of the database leads to a standby, on which nothing can be changed, and its timeline. Processes with
 * different timelines have different primaries.
 */
export const recoveryReading: Reading = {
  figures: [
    {
      name: 'keyrail_database_in_recovery',
      help: '1 when the database is a standby, or is replaying its log; 0 when it is the primary.',
    },
    {
      name: 'keyrail_database_timeline',
      help: 'The timeline of the primary, which rises with each promotion. Missing for a standby.',
    },
  ],
  async read(client) {
    const { rows } = await client.query(`select pg_is_in_recovery()::int as recovers,
      case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`)
    const [{ recovers, timeline }] = rows
    return {
      keyrail_database_in_recovery: [{ value: recovers }],
      keyrail_database_timeline: timeline === null ? [] : [{ value: Number.parseInt(timeline, 16) }],
    }
  },
}

import { accessSync, constants } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Config } from '../config.ts'
import { type Connection, connect } from '../platform/db/connection.ts'
import { findPlace } from '../platform/db/embedded/directory.ts'
import { DirectoryHeld } from '../platform/db/embedded/refusal.ts'
import { findRunningEmbedded } from '../platform/db/embedded/running.ts'
import { type EmbeddedPostgres, startEmbedded } from '../platform/db/embedded/start.ts'
import { appliedMigrations, migrations } from '../platform/db/migrate/migrate.ts'
import { postgresMajorMin, readServerFacts, type ServerFacts } from '../platform/db/roles/server-facts.ts'
import { outsideConnections } from './connections.ts'
import { CommandFailed, interruptedCode } from './failure.ts'
import { inform, warn } from './output.ts'
import { explainUnreachable } from './unreachable.ts'

/** The database of the service, for a command that works beside it or without it. */
export interface CommandDatabase {
  /**
   * `outside`: from DATABASE_URL. `running`: embedded, used by a running service. `started`: embedded, started
   * by this command.
   */
  readonly kind: 'outside' | 'running' | 'started'
  readonly connection: Connection
  /** The same database past a pooler: for migrations, backup and restore. */
  readonly direct: Connection
  readonly facts: ServerFacts
  /** Disconnects, and stops the embedded Postgres if this command started it. */
  close(): Promise<void>
}

/** A starting service has its Postgres up within this time, including a normal crash recovery. */
const startingMs = 20_000

/**
 * Opens the database for a command: the outside one, or the embedded one, beside a running service or started
 * while the command runs.
 * @param create for a command that may begin with nothing: it creates a missing embedded database.
 * @throws {CommandFailed} saying why the database cannot be reached, that it is missing or older than Postgres 15.
 */
export async function openDatabase(config: Config, { create = false } = {}): Promise<CommandDatabase> {
  const outside = outsideConnections(config)
  if (outside === null) {
    if (!create) refuseMissing(config)
    return await openEmbedded(config)
  }
  return { kind: 'outside', ...outside, facts: await inspectServer(outside.direct), close: async () => {} }
}

/**
 * Logs in and reads what the server is.
 * @throws {CommandFailed} as `openDatabase`.
 */
export async function inspectServer(connection: Connection): Promise<ServerFacts> {
  const facts = await withClient(connection, readServerFacts)
  if (facts.major >= postgresMajorMin) return facts
  throw new CommandFailed(
    `The database is Postgres ${facts.version}; Keyrail needs ${postgresMajorMin} or later. ` +
      'Upgrade it, or unset DATABASE_URL to use the embedded one.',
  )
}

/** Opens a connection for some work, and closes it. */
export async function withClient<T>(
  connection: Connection,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connect(connection, 'command', false).catch(error => {
    const reason = explainUnreachable(error, connection)
    throw reason === null ? error : new CommandFailed(reason, { cause: error })
  })
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** @throws {CommandFailed} if the database lacks a migration that this code needs. */
export async function requireSchema(connection: Connection): Promise<void> {
  const applied = new Set(await withClient(connection, appliedMigrations))
  const missing = migrations.filter(name => !applied.has(name))
  if (missing.length === 0) return
  throw new CommandFailed(`The database lacks ${missing.length} migrations. Run keyrail migrate first.`)
}

/**
 * A command in the wrong folder, or without the settings of the service, would otherwise work on a new, empty database.
 * @throws {CommandFailed}
 */
function refuseMissing({ dataDir }: Config): void {
  if (findPlace(dataDir) !== undefined || isClosed(dataDir)) return
  throw new CommandFailed(
    `${dataDir} has no database. Run this with the settings of the service: its SERVICE_DATA_DIR, or its DATABASE_URL.`,
  )
}

/** In a folder that this account may not enter a database would seem to be missing; opening it gives the reason. */
function isClosed(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.X_OK)
    return false
  } catch (error) {
    return (error as { code?: unknown }).code !== 'ENOENT'
  }
}

async function openEmbedded(config: Config): Promise<CommandDatabase> {
  const giveUp = performance.now() + startingMs
  for (;;) {
    const running = findRunningEmbedded(config.dataDir)
    if (running) return await besideService(running)
    try {
      return await forThisCommand(config)
    } catch (error) {
      // Another process holds the directory, and its Postgres is still starting or restarting.
      if (!(error instanceof DirectoryHeld) || performance.now() > giveUp) throw error
      await sleep(100)
    }
  }
}

async function besideService(connection: Connection): Promise<CommandDatabase> {
  const facts = await inspectServer(connection)
  return { kind: 'running', connection, direct: connection, facts, close: async () => {} }
}

async function forThisCommand({ dataDir }: Config): Promise<CommandDatabase> {
  const postgres = await startEmbedded({ dataDir, log: quietLog })
  const free = stopWithUs(postgres)
  const close = async () => {
    await postgres.stop()
    free()
  }
  const { connection } = postgres
  try {
    const facts = await inspectServer(connection)
    return { kind: 'started', connection, direct: connection, facts, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** An interrupted command also stops the Postgres that it started. */
function stopWithUs(postgres: EmbeddedPostgres): () => void {
  const interrupted = async () => {
    await postgres.stop()
    process.exit(interruptedCode)
  }
  // An exit cannot wait; after this signal Postgres shuts down on its own.
  const exiting = () => {
    process.kill(postgres.pid, 'SIGINT')
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, interrupted)
  process.on('exit', exiting)
  return () => {
    for (const signal of signals) process.off(signal, interrupted)
    process.off('exit', exiting)
  }
}

/** Logs of the embedded Postgres, a command shows only what needs attention or was made. */
const quietLog = {
  info: (fields: Record<string, unknown>, message: string) => {
    if ('directory' in fields) inform(message)
  },
  warn: (_fields: Record<string, unknown>, message: string) => warn(message),
}

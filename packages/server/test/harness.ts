import { randomBytes, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { FastifyInstance } from 'fastify'
import pg from 'pg'
import { buildApp } from '../src/app.ts'
import { type Config, readConfig } from '../src/config.ts'
import { type Deps, openDeps } from '../src/deps.ts'
import type { Clock } from '../src/platform/clock.ts'
import type { Connection } from '../src/platform/db/connection.ts'
import { createLog } from '../src/platform/log.ts'
import { codehostKeysFile } from './codehost.ts'
import { assertKeepsContract } from './contract-watch.ts'
import { makeDatabase, type TestDatabase, testCluster } from './database.ts'
import { encryptionKeys } from './encryption-key.ts'

export const bootstrapToken = 'bootstrap-token-of-the-tests-0123456789'

export interface Heard {
  status: number
  headers: Record<string, string | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: what a test hears is checked by its assertions and by the contract watch.
  body: any
}

export interface Ask {
  token?: string
  body?: unknown
  headers?: Record<string, string>
}

/** Time that stands still until a test moves it. */
export interface HeldClock extends Clock {
  set(milliseconds: number): void
  advance(milliseconds: number): void
  /** Moves the monotonic clock on, which runs by itself otherwise. */
  skip(milliseconds: number): void
}

export interface Harness {
  app: FastifyInstance
  deps: Deps
  clock: HeldClock
  connection: Connection
  /** What the service logged so far, a JSON object a line. */
  logged: string[]
  /** Speaks to the app without a socket; every answer is held against the contract. */
  ask(method: string, url: string, ask?: Ask): Promise<Heard>
  /** SQL as the owner of the tables, past row-level security. */
  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape, read by the test that asked for them.
  query(text: string, values?: unknown[]): Promise<any[]>
  /** Sets the store's clock; null gives it back. */
  setStoreTime(time: Date | null): Promise<void>
}

/** A service of one's own on a fresh database, or the one given, gone when the test file ends. */
export async function startHarness(
  settings: Partial<Config> = {},
  given: TestDatabase | null = null,
): Promise<Harness> {
  const database = given ?? (await makeDatabase(testCluster()))
  const { connection } = database
  const logged: string[] = []
  const clock = heldClock()
  // Where mail goes that no test takes in; it is made with the first.
  const dataDir = join(tmpdir(), `keyrail-test-${randomUUID()}`)
  const { config } = readConfig({ SERVICE_BOOTSTRAP_TOKEN: bootstrapToken, SERVICE_DATA_DIR: dataDir })
  const log = createLog('info', {
    write: line => {
      logged.push(line)
      if (process.env.KEYRAIL_TEST_LOG) process.stderr.write(line)
    },
  })
  // With a port, which only a service that listens would open, metrics are counted.
  const deps = await openDeps({
    config: {
      ...config,
      encryptionKeys,
      metricsPort: 0,
      codehostKeysFile,
      // Walks over all routes make some thousand keys in one workspace.
      maxActiveSecretKeys: 10_000,
      // Races hold several works of one workspace at once, while the tests' other workspaces are about.
      databasePool: 100,
      ...settings,
    },
    log,
    connection,
    clock,
    randomBytes,
  })
  const app = await buildApp(deps)
  const client = new pg.Client({ ...connection, types: numbersForBigints })
  client.on('error', () => {})
  await client.connect()
  after(async () => {
    await app.close()
    await deps.close()
    await client.end()
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  return {
    app,
    deps,
    clock,
    connection,
    logged,
    async ask(method, url, { token, body, headers = {} } = {}) {
      const response = await app.inject({
        method: method as 'GET',
        url,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const heard = {
        status: response.statusCode,
        headers: response.headers as Heard['headers'],
        body: /[/+]json\b/.test(String(response.headers['content-type'])) ? response.json() : response.body,
      }
      assertKeepsContract({ method, url, ...heard })
      return heard
    },
    query: async (text, values) => (await client.query(text, values)).rows,
    async setStoreTime(time) {
      const body =
        time === null
          ? `date_trunc('milliseconds', clock_timestamp())`
          : `timestamptz '${time.toISOString()}'`
      await client.query(
        `create or replace function service_now() returns timestamptz language sql stable as $$ select ${body} $$`,
      )
    },
  }
}

const numbersForBigints = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === 20 ? Number : pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig

function heldClock(): HeldClock {
  let now = Date.now()
  let skipped = 0
  return {
    now: () => now,
    monotonic: () => performance.now() + skipped,
    skip: milliseconds => {
      skipped += milliseconds
    },
    set: milliseconds => {
      now = milliseconds
    },
    advance: milliseconds => {
      now += milliseconds
    },
  }
}

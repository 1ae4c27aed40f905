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
import type { Outside } from '../src/outside.ts'
import { type Budgets, serviceBudgets } from '../src/platform/budgets.ts'
import type { Clock } from '../src/platform/clock.ts'
import { type Connection, withConnectMs } from '../src/platform/db/connection.ts'
import { type Db, unbound } from '../src/platform/db/db.ts'
import { createLog } from '../src/platform/observe/log.ts'
import { codehostKeysFile } from './codehost.ts'
import { assertKeepsContract } from './contract-watch.ts'
import { makeDatabase, type TestDatabase, testCluster } from './database.ts'
import { encryptionKeys } from './encryption-key.ts'
import { patientBudgets } from './stores.ts'

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
interface HeldClock extends Clock {
  set(milliseconds: number): void
  advance(milliseconds: number): void
  /** Moves the monotonic clock on, which runs by itself otherwise. */
  skip(milliseconds: number): void
}

/** One process of the service. */
interface TestService {
  app: FastifyInstance
  deps: Deps
  /** Speaks to the app without a socket; every answer is held against the contract. */
  ask(method: string, url: string, ask?: Ask): Promise<Heard>
}

export interface Harness extends TestService {
  /** The database, as tasks of the service use it. */
  db: Db
  clock: HeldClock
  connection: Connection
  /** What the service logged so far, a JSON object a line. */
  logged: string[]
  /** Starts a second process on the same database, which waits as long as the service does in production. */
  startImpatient(): Promise<TestService>
  /** SQL as the owner of the tables, past row-level security. */
  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape, read by the test that asked for them.
  query(text: string, values?: unknown[]): Promise<any[]>
  /** Sets the store's clock; null gives it back. */
  setStoreTime(time: Date | null): Promise<void>
  /** Sets the store's clock so many hours ahead, or back, from where it runs on. */
  stepStoreTime(hours: number): Promise<void>
}

/**
 * Starts a service on a fresh database, or on the given one, until the test file ends.
 * @param budgets patient ones by default, so that no test depends on the speed of the machine.
 * @param outside what replaces a part of the checkout.
 */
export async function startHarness(
  settings: Partial<Config> = {},
  given: TestDatabase | null = null,
  budgets: Budgets = patientBudgets,
  outside: Pick<Outside, 'dashboard' | 'randomBytes'> = {},
): Promise<Harness> {
  const database = given ?? (await makeDatabase(testCluster()))
  const connection = withConnectMs(database.connection, budgets.connectMs)
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
  const own = {
    ...config,
    encryptionKeys,
    metricsPort: 0,
    codehostKeysFile,
    // Walks over all routes make some thousand keys in one workspace.
    maxActiveSecretKeys: 10_000,
    // Races hold several works of one workspace at once, while the tests' other workspaces are about.
    databasePool: 100,
    ...settings,
  }
  const services: TestService[] = []
  const start = async (budgets: Budgets): Promise<TestService> => {
    const deps = await openDeps({ randomBytes, ...outside, config: own, log, connection, clock, budgets })
    const app = await buildApp(deps)
    const service = { app, deps, ask: askerOf(app) }
    services.push(service)
    return service
  }
  const service = await start(budgets)
  const storeNow = (body: string) =>
    client.query(
      `create or replace function service_now() returns timestamptz language sql stable as $$ select ${body} $$`,
    )
  // The test's own connection, whose opening no request waits for.
  const client = new pg.Client({ ...database.connection, types: numbersForBigints })
  client.on('error', () => {})
  await client.connect()
  after(async () => {
    for (const { app, deps } of services) {
      await app.close()
      await deps.close()
    }
    await client.end()
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  return {
    ...service,
    db: service.deps.pool.bind(unbound),
    clock,
    connection,
    logged,
    startImpatient: () => start(serviceBudgets),
    query: async (text, values) => (await client.query(text, values)).rows,
    async setStoreTime(time) {
      await storeNow(time === null ? storeNowByItself : `timestamptz '${time.toISOString()}'`)
    },
    async stepStoreTime(hours) {
      await storeNow(`${storeNowByItself} + interval '${hours} hours'`)
    },
  }
}

const askerOf =
  (app: FastifyInstance): TestService['ask'] =>
  async (method, url, { token, body, headers = {} } = {}) => {
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
  }

const storeNowByItself = `date_trunc('milliseconds', clock_timestamp())`

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

import { randomBytes } from 'node:crypto'
import type { FastifyInstance, InjectOptions } from 'fastify'
import pg from 'pg'
import { buildApp } from '../../packages/server/src/app.ts'
import { type Config, readConfig } from '../../packages/server/src/config.ts'
import { openDeps } from '../../packages/server/src/deps.ts'
import type { Connection } from '../../packages/server/src/platform/db/connection.ts'
import { createLog, type Logger } from '../../packages/server/src/platform/observe/log.ts'
import { encryptionKey } from '../../packages/server/test/encryption-key.ts'
import type { AskApi } from '../../packages/server/test/mutations.ts'
import { makeScene, type Scene } from '../../packages/server/test/vendor.ts'
import { bootstrapToken } from './service.ts'

/** A service in this process on its own database, with a clock that the drill moves, and a workspace in it. */
export interface FeedHouse {
  readonly app: FastifyInstance
  readonly ask: AskApi
  readonly scene: Scene
  /** A secret key of the workspace that sees test keys alone. */
  readonly testToken: string
  /** SQL as the owner of the tables. */
  readonly client: pg.Client
  readonly connection: Connection
  readonly log: Logger
  /** Milliseconds since 1970, the same for the service and its store. It stands still until moved. */
  now(): number
  advance(milliseconds: number): Promise<void>
  close(): Promise<void>
}

/** How often a request is repeated after a 503. */
const triesMost = 10

let made = 0

/**
 * @param template a migrated database without connections
 * @param settings over the service's own; smaller bounds than may be configured are accepted
 */
export async function openFeedHouse(
  template: Connection,
  settings: Partial<Config> = {},
): Promise<FeedHouse> {
  made += 1
  const connection = { ...template, database: `feed_${process.pid}_${made}` }
  const admin = new pg.Client({ ...template, database: 'postgres' })
  await admin.connect()
  // Without a listener, a stopped cluster would end the process before it could report why.
  admin.on('error', () => {})
  await admin.query(`create database ${connection.database} template ${template.database}`)

  const client = new pg.Client({ ...connection, types: bigintsAsNumbers })
  await client.connect()
  client.on('error', () => {})
  let now = Date.now()
  // A table, because a new function at every step would make every session plan its statements again.
  await client.query(`
    create table drill_time (at timestamptz(3) not null);
    grant select on drill_time to keyrail_app;
    create or replace function service_now() returns timestamptz language sql stable as 'select at from public.drill_time'`)
  await client.query('insert into drill_time values ($1)', [new Date(now)])

  const { config } = readConfig({
    SERVICE_BOOTSTRAP_TOKEN: bootstrapToken,
    SERVICE_ENCRYPTION_KEY: encryptionKey,
  })
  const log = createLog('silent')
  const deps = await openDeps({
    config: { ...config, databasePool: 8, ...settings },
    log,
    connection,
    clock: { now: () => now, monotonic: () => performance.now() },
    randomBytes,
  })
  const app = await buildApp(deps)
  const ask = askInProcess(app)
  const scene = await makeScene(ask, bootstrapToken)
  const test = await ask('POST', '/v1/secret_keys', { token: scene.live, body: { env: 'test' } })

  return {
    app,
    ask,
    scene,
    testToken: test.body.key,
    client,
    connection,
    log,
    now: () => now,
    async advance(milliseconds) {
      now += milliseconds
      await client.query('update drill_time set at = $1', [new Date(now)])
    },
    async close() {
      await app.close()
      await deps.close()
      await client.end()
      await admin.query(`drop database ${connection.database} with (force)`)
      await admin.end()
    },
  }
}

const askInProcess =
  (app: FastifyInstance): AskApi =>
  async (method, url, { token, body, headers = {} } = {}) => {
    const answer = await injectPatiently(app, {
      method: method as 'GET',
      url,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      ...(body !== undefined && { payload: body as object }),
    })
    const isJson = /json/.test(String(answer.headers['content-type']))
    return { status: answer.statusCode, body: isJson ? answer.json() : answer.body }
  }

/**
 * Under heavy load the service keeps its deadlines and answers 503, which other drills judge. Such a request is
 * repeated, though it may have happened: the truth is read from the tables.
 */
async function injectPatiently(app: FastifyInstance, request: InjectOptions) {
  for (let tries = 1; ; tries += 1) {
    const answer = await app.inject(request)
    if (answer.statusCode !== 503 || tries === triesMost) return answer
  }
}

/** Replaces `fetch`: no socket, the same bytes. */
export const fetchFrom =
  (app: FastifyInstance): typeof fetch =>
  async (input, init) => {
    const { pathname, search } = new URL(String(input))
    const headers = Object.fromEntries(new Headers(init?.headers))
    const answer = await injectPatiently(app, { method: 'GET', url: `${pathname}${search}`, headers })
    return new Response(answer.statusCode === 304 ? null : new Uint8Array(answer.rawPayload), {
      status: answer.statusCode,
      headers: Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
    })
  }

const int8 = 20
const bigintsAsNumbers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig

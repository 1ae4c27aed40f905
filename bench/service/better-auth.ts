import { randomBytes } from 'node:crypto'
import { apiKey } from '@better-auth/api-key'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import pg from 'pg'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import { makeAtOnce } from './at-once.ts'
import { REFUSED_KEYS } from './issue-keys.ts'
import { type IssuedKey, type IssuedKeys, verifyingOrder } from './key-verdicts.ts'

const DATABASE = 'better_auth'
const LANES = 16
const MONTH_S = 30 * 86_400
const permissions = { orders: ['read', 'write'] }
const required = { orders: ['read'] }

/**
 * The peer as its documentation sets it up: a pool of `pg`, its keys in the database, hashed. Its limits are off, as
 * our side checks none in process. `deferUpdates` is left out: the peer writes to keys in the database before it finds
 * them valid, with or without it.
 *
 * @param connections the number of concurrent verifications
 */
export function openBetterAuth(databaseUrl: string, connections: number) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connections })
  const auth = betterAuth({
    database: pool,
    baseURL: 'http://localhost',
    secret: randomBytes(32).toString('base64'),
    emailAndPassword: { enabled: true },
    // It would log every key that it refuses.
    logger: { disabled: true },
    telemetry: { enabled: false },
    plugins: [apiKey({ storage: 'database', rateLimit: { enabled: false } })],
  })
  return {
    auth,
    pool,
    /** @returns the id of the key, or null for a refused one */
    async verify(key: string): Promise<string | null> {
      const { valid, key: found } = await auth.api.verifyApiKey({ body: { key, permissions: required } })
      return valid && found ? found.id : null
    },
  }
}

/** A database beside ours, with the peer's schema and with keys of signed-up owners. */
export async function betterAuthDatabase(
  postgres: ScratchPostgres,
  { count, owners }: { count: number; owners: number },
): Promise<{ databaseUrl: string; keys: IssuedKeys }> {
  await postgres.query(`create database ${DATABASE}`)
  const url = new URL(postgres.url)
  url.pathname = DATABASE
  const databaseUrl = url.href
  const { auth, pool } = openBetterAuth(databaseUrl, LANES)
  try {
    const { runMigrations } = await getMigrations(auth.options)
    await runMigrations()
    const userIds = await Promise.all(Array.from({ length: owners }, (_, n) => signUp(auth, n)))
    const keys = await createKeys(auth, userIds, count)
    // The peer creates no expired keys.
    const ids = keys.expired.map(({ id }) => id)
    await pool.query(`update apikey set "expiresAt" = now() - interval '1 month' where id = any($1)`, [ids])
    // What an autovacuum would have done with enough time.
    await pool.query('vacuum analyze apikey')
    return { databaseUrl, keys }
  } finally {
    await pool.end()
  }
}

type Auth = ReturnType<typeof openBetterAuth>['auth']

async function signUp({ api }: Auth, number: number): Promise<string> {
  const password = randomBytes(16).toString('hex')
  const { user } = await api.signUpEmail({
    body: { email: `owner-${number}@bench.example`, name: 'Bench', password },
  })
  return user.id
}

async function createKeys({ api }: Auth, userIds: readonly string[], count: number): Promise<IssuedKeys> {
  const create = async (number: number, expiresIn: number | null): Promise<IssuedKey> => {
    const userId = userIds[number % userIds.length]
    const { id, key } = await api.createApiKey({ body: { userId, name: 'bench', permissions, expiresIn } })
    return { id, key }
  }
  const ended = await makeAtOnce(REFUSED_KEYS, LANES, n => create(n, null))
  await Promise.all(
    ended.map(({ id: keyId }, at) =>
      api.updateApiKey({ body: { keyId, userId: userIds[at % userIds.length], enabled: false } }),
    ),
  )
  const keys = await makeAtOnce(count, LANES, n => create(n, n % 2 ? MONTH_S : null))
  const expired = await makeAtOnce(REFUSED_KEYS, LANES, n => create(n, MONTH_S))
  return { valid: verifyingOrder(count).map(number => keys[number] as IssuedKey), ended, expired }
}

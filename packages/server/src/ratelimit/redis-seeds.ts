/** The address of a Redis. `place` has no password, and may be logged. */
export interface Seed {
  place: string
  options: SeedOptions
}

interface SeedOptions {
  host: string
  port: number
  db: number
  username?: string
  password?: string
  tls?: object
}

/** A Redis answers and cannot be used. The message gives the reason, and never contains the password. */
export class RedisRefused extends Error {
  override name = 'RedisRefused'
}

/**
 * Reads `REDIS_URL`: `redis://` or `rediss://` (TLS), for one server or any node of a cluster. Several nodes of a cluster
 * are separated by commas, so that one may be down when the service starts.
 */
export const seedsOf = (setting: string): Seed[] => setting.split(/,(?=rediss?:\/\/)/).map(toSeed)

function toSeed(text: string): Seed {
  const { protocol, hostname, port, username, password, pathname } = new URL(text)
  const host = hostname.replace(/^\[|\]$/g, '') || 'localhost'
  const db = pathname.replace(/^\//, '') || '0'
  if (!/^\d{1,4}$/.test(db))
    throw new RedisRefused('The path of REDIS_URL must be the number of a database, such as /0.')
  const options = {
    host,
    port: Number(port || 6379),
    db: Number(db),
    ...(username !== '' && { username: decode(username) }),
    ...(password !== '' && { password: decode(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  }
  return { place: `${options.host}:${options.port}`, options }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new RedisRefused('User and password in REDIS_URL must be percent-encoded: write % as %25.')
  }
}

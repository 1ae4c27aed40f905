import { readValueFile } from '../../platform/files/value-file.ts'

/** The address of a Redis. `place` has no password, and may be logged. */
export interface Seed {
  place: string
  options: SeedOptions
  /** The login for a connection that opens now, read from the file of the setting, so that a password can be changed. */
  login(): Login
}

interface Login {
  username?: string
  password?: string
}

interface SeedOptions extends Login {
  host: string
  port: number
  db: number
  tls?: object
}

/** A Redis answers and cannot be used. The message gives the reason, and never contains the password. */
export class RedisRefused extends Error {
  override name = 'RedisRefused'
}

/**
 * Reads `REDIS_URL`: `redis://` or `rediss://` (TLS), for one server or any node of a cluster. Several nodes of a cluster are
 * separated by commas, so that one of them may be down when the service starts.
 * @param file the file that the setting was read from.
 */
export const seedsOf = (setting: string, file?: string): Seed[] =>
  split(setting).map((text, at) => {
    const seed = toSeed(text)
    return { ...seed, login: () => (file === undefined ? null : loginIn(file, at)) ?? loginOf(seed.options) }
  })

const split = (setting: string) => setting.split(/,(?=rediss?:\/\/)/)

const loginOf = ({ username, password }: SeedOptions): Login => ({
  ...(username !== undefined && { username }),
  ...(password !== undefined && { password }),
})

/** The login of the address in a file; null: the file cannot be read now, or has no address. */
function loginIn(file: string, at: number): Login | null {
  const all = split(readValueFile(file) ?? '')
  try {
    return loginOf(toSeed(all[at] ?? all[0] ?? '').options)
  } catch {
    return null
  }
}

function toSeed(text: string): Omit<Seed, 'login'> {
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

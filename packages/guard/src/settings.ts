import { readFileSync } from 'node:fs'
import { type Address, readAddress } from './listen.ts'
import { RouteTable } from './route-table.ts'

/** Every setting of the guard: its default and its purpose. `docs/guard.md` has the same table. */
export const settings = {
  KEYRAIL_URL: { default: null, why: 'Address of the Keyrail service; https, except on this machine' },
  KEYRAIL_SECRET_KEY: { default: null, why: 'Secret key (`krsk_…`) of the preset `node`' },
  KEYRAIL_PROJECT: { default: null, why: 'Id of the project whose keys are verified' },
  GUARD_LISTEN: { default: '127.0.0.1:8070', why: 'Where it answers: HOST:PORT, or unix:/PATH' },
  GUARD_SECRET: {
    default: null,
    why: 'What the proxy sends as `X-Keyrail-Guard-Secret`, at least 32 characters; required beyond this machine',
  },
  GUARD_ENV: { default: null, why: 'Which keys pass: live, test or both; unset: those of the secret key' },
  GUARD_KEY_HEADERS: {
    default: 'authorization,x-api-key',
    why: 'Headers with the key, the first one counts; `authorization` has `Bearer`, any other the bare key',
  },
  GUARD_ROUTES: { default: null, why: 'File with the table of routes, JSON; unset: the query alone demands' },
  GUARD_METHOD_HEADER: {
    default: null,
    why: 'Header in which the proxy hands over the method of the request, for GUARD_ROUTES and `/auth`',
  },
  GUARD_URI_HEADER: {
    default: null,
    why: 'Header in which the proxy hands over path and query of the request, for the same',
  },
  GUARD_IP_HEADER: {
    default: null,
    why: 'Header in which the proxy hands over the address of the client, which must overwrite it; unset: keys with networks are refused',
  },
  GUARD_DIRECTORY: { default: null, why: 'Folder for the copy of the keys, for the next start; unset: none' },
  GUARD_NODE: {
    default: null,
    why: 'Name of this node in the fleet; unset: host, process and a random part',
  },
  GUARD_LIMITS: {
    default: 'on',
    why: 'Whether limits are charged: on (large ones ahead), prepay (all ahead) or off',
  },
  GUARD_LIMITS_UNAVAILABLE: {
    default: 'deny',
    why: 'Requests of a key with limits while the service is away: deny (503) or allow',
  },
  GUARD_USAGE: { default: 'on', why: 'Whether requests are counted: on or off' },
  GUARD_INSECURE: { default: 'off', why: 'Whether KEYRAIL_URL may be http on another machine: on or off' },
  GUARD_MAX_CONNECTIONS: {
    default: '4096',
    why: 'Open connections of proxies; further ones are closed at once',
  },
  GUARD_DRAIN_DELAY_S: {
    default: '0',
    why: 'Seconds between SIGTERM and the close, in which `/readyz` is 503 and requests are answered; at most 300',
  },
} as const satisfies Record<string, { default: string | null; why: string }>

type Name = keyof typeof settings
export type Environment = Readonly<Record<string, string | undefined>>

/** What the guard reads again on SIGHUP, all of it or nothing. */
export interface Reloaded {
  readonly secret: string | undefined
  readonly secretKey: string
  readonly routes: RouteTable | undefined
}

export interface GuardSettings {
  readonly url: string | undefined
  readonly project: string | undefined
  readonly address: Address
  readonly env: 'live' | 'test' | 'both' | undefined
  readonly keyHeaders: readonly string[]
  readonly methodHeader: string | undefined
  readonly uriHeader: string | undefined
  readonly ipHeader: string | undefined
  readonly directory: string | undefined
  readonly node: string | undefined
  readonly limits: 'on' | 'prepay' | 'off'
  readonly limitsUnavailable: 'deny' | 'allow'
  readonly usage: boolean
  readonly insecure: boolean
  readonly maxConnections: number
  readonly drainDelayS: number
  readonly first: Reloaded
  /** @throws SettingsError */
  reload(): Reloaded
}

/** All wrong settings, each named. Holds no secret. */
export class SettingsError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.faults = faults
  }
}

/** Settings whose value may be the content of a file, `NAME_FILE`. */
const secrets = ['KEYRAIL_SECRET_KEY', 'GUARD_SECRET'] as const

class Reader {
  readonly faults: string[] = []
  readonly #env: Environment

  constructor(env: Environment) {
    this.#env = env
    for (const name of Object.keys(env))
      if (name.startsWith('GUARD_') && !isKnown(name)) this.#wrong(name, 'is unknown')
  }

  #wrong(name: string, what: string): undefined {
    this.faults.push(`${name} ${what}`)
    return undefined
  }

  text(name: Name): string | undefined {
    return this.#env[name] || settings[name].default || undefined
  }

  required(name: Name): string | undefined {
    return this.text(name) ?? this.#wrong(name, 'is not set')
  }

  secret(name: (typeof secrets)[number]): string | undefined {
    const file = this.#env[`${name}_FILE`]
    if (!file) return this.text(name)
    if (this.text(name) !== undefined) return this.#wrong(`${name}_FILE`, `and ${name} are both set`)
    const text = this.file(`${name}_FILE`, file)?.trim()
    return text === '' ? this.#wrong(`${name}_FILE`, `is empty: ${file}`) : text
  }

  file(name: string, path: string): string | undefined {
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      return this.#wrong(name, `cannot be read: ${path} (${(error as NodeJS.ErrnoException).code})`)
    }
  }

  read<T>(name: Name, parse: (text: string) => T | undefined, form: string): T | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : (parse(text) ?? this.#wrong(name, `must be ${form}`))
  }

  oneOf<const T extends string>(name: Name, choices: readonly T[]): T | undefined {
    return this.read(name, text => choices.find(each => each === text), choices.join(', '))
  }

  integer(name: Name, least: number, most: number): number {
    const parse = (text: string) =>
      /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined
    return this.read(name, parse, `an integer from ${least} to ${most}`) ?? least
  }

  reloaded(): Reloaded {
    const secret = this.secret('GUARD_SECRET')
    if (secret !== undefined && !/^[\x21-\x7e]{32,512}$/.test(secret))
      this.#wrong('GUARD_SECRET', 'must be 32 to 512 visible characters of ASCII')
    const path = this.text('GUARD_ROUTES')
    const text = path === undefined ? undefined : this.file('GUARD_ROUTES', path)
    return {
      secret,
      secretKey: this.#secretKey(),
      routes: text === undefined ? undefined : this.#table(text),
    }
  }

  #secretKey(): string {
    const wrong = this.faults.length
    const secretKey = this.secret('KEYRAIL_SECRET_KEY')
    if (secretKey === undefined && this.faults.length === wrong)
      this.#wrong('KEYRAIL_SECRET_KEY', 'is not set')
    return secretKey ?? ''
  }

  #table(text: string): RouteTable | undefined {
    try {
      return new RouteTable(text)
    } catch (error) {
      return this.#wrong('GUARD_ROUTES', (error as Error).message)
    }
  }

  checkTogether(address: Address | undefined, { secret }: Reloaded): void {
    const isOpen = address?.kind === 'port' && !address.isLoopback
    if (isOpen && secret === undefined)
      this.#wrong('GUARD_SECRET', 'is not set, and GUARD_LISTEN is not this machine alone')
    const pair = ['GUARD_METHOD_HEADER', 'GUARD_URI_HEADER'] as const
    const unset = pair.filter(name => this.text(name) === undefined)
    if (unset.length === 1)
      for (const name of unset) this.#wrong(name, 'is not set, and the other of the two is')
  }
}

const isKnown = (name: string) => name in settings || secrets.some(secret => name === `${secret}_FILE`)

const headerName = (text: string) => (/^[\w-]+$/.test(text) ? text.toLowerCase() : undefined)

function headerNames(text: string): string[] | undefined {
  const names = text.split(',').map(each => headerName(each.trim()))
  return names.every(name => name !== undefined) ? names : undefined
}

/** @throws SettingsError naming every wrong setting */
export function readSettings(env: Environment): GuardSettings {
  const reader = new Reader(env)
  const address = reader.read('GUARD_LISTEN', readAddress, 'HOST:PORT, or unix:/PATH of at most 107 bytes')
  const first = reader.reloaded()
  reader.checkTogether(address, first)
  const read = {
    url: reader.required('KEYRAIL_URL'),
    project: reader.required('KEYRAIL_PROJECT'),
    env: reader.oneOf('GUARD_ENV', ['live', 'test', 'both']),
    keyHeaders: reader.read('GUARD_KEY_HEADERS', headerNames, 'names of headers, with commas') ?? [],
    methodHeader: reader.read('GUARD_METHOD_HEADER', headerName, 'the name of a header'),
    uriHeader: reader.read('GUARD_URI_HEADER', headerName, 'the name of a header'),
    ipHeader: reader.read('GUARD_IP_HEADER', headerName, 'the name of a header'),
    directory: reader.text('GUARD_DIRECTORY'),
    node: reader.text('GUARD_NODE'),
    limits: reader.oneOf('GUARD_LIMITS', ['on', 'prepay', 'off']) ?? 'on',
    limitsUnavailable: reader.oneOf('GUARD_LIMITS_UNAVAILABLE', ['deny', 'allow']) ?? 'deny',
    usage: reader.oneOf('GUARD_USAGE', ['on', 'off']) === 'on',
    insecure: reader.oneOf('GUARD_INSECURE', ['on', 'off']) === 'on',
    maxConnections: reader.integer('GUARD_MAX_CONNECTIONS', 1, 65_536),
    drainDelayS: reader.integer('GUARD_DRAIN_DELAY_S', 0, 300),
  }
  if (reader.faults.length > 0 || address === undefined) throw new SettingsError(reader.faults)
  return {
    ...read,
    address,
    first,
    reload() {
      const again = new Reader(env)
      const reloaded = again.reloaded()
      again.checkTogether(address, reloaded)
      if (again.faults.length > 0) throw new SettingsError(again.faults)
      return reloaded
    },
  }
}

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isSigningPem } from './platform/crypto/signing-keys.ts'
import { type MailSettings, readMailSettings } from './platform/mail/settings.ts'
import { unknownNames } from './setting-names.ts'

/**
 * Every setting of the service: its name, kind, default, unit and reason, declared once.
 * `docs/configuration.md` is held against this table, and nothing else reads the environment.
 */
interface Setting {
  kind: 'text' | 'integer' | 'url' | 'path' | 'secret'
  default: string | null
  min?: number
  max?: number
  why: string
}

export const settings = {
  SERVICE_HOST: { kind: 'text', default: '127.0.0.1', why: 'Address to listen on' },
  SERVICE_PORT: { kind: 'integer', default: '8080', min: 0, max: 65_535, why: 'Port; 0 takes a free one' },
  SERVICE_PUBLIC_URL: {
    kind: 'url',
    default: null,
    why: 'How people and tokens name the service; http://localhost:<port> when unset',
  },
  SERVICE_DATA_DIR: {
    kind: 'path',
    default: './data',
    why: 'Embedded database, generated secrets and the mail of development',
  },
  SERVICE_MAIL_URL: {
    kind: 'url',
    default: null,
    why: 'Where mail goes: smtp://, smtps:// or file:<folder>; unset: the folder mail in SERVICE_DATA_DIR',
  },
  SERVICE_MAIL_FROM: {
    kind: 'text',
    default: null,
    why: 'Sender, as Name <address>; unset: no-reply at the host of SERVICE_PUBLIC_URL',
  },
  DATABASE_URL: { kind: 'url', default: null, why: 'Postgres 15 or later; unset: the embedded one' },
  DATABASE_DIRECT_URL: {
    kind: 'url',
    default: null,
    why: 'The same database past a pooler, for LISTEN, mail, migrations, backup and restore',
  },
  SERVICE_DATABASE_POOL: {
    kind: 'integer',
    default: '10',
    min: 1,
    max: 200,
    why: 'Connections for management requests, beside one a lane',
  },
  REDIS_URL: {
    kind: 'url',
    default: null,
    why: 'Redis or Valkey 7 or later for rate-limit counters, single or cluster; unset: Postgres',
  },
  SERVICE_BOOTSTRAP_TOKEN: {
    kind: 'secret',
    default: null,
    min: 32,
    why: 'May create workspaces; unset: that branch is off (an embedded database generates one)',
  },
  SERVICE_HOT_AUTH_CACHE_MS: {
    kind: 'integer',
    default: '5000',
    min: 0,
    max: 60_000,
    why: 'How long rate-limit checks and idempotency calls reuse what was found of a secret key, in ms; 0: not at all',
  },
  SERVICE_REVOKE_WAIT_MS: {
    kind: 'integer',
    default: '15000',
    min: 0,
    max: 60_000,
    why: 'How long `revoke?wait=true` waits for nodes, in ms: two polls of 5 s and slack',
  },
  SERVICE_POLICY_MAX_WHOLE_KEYS: {
    kind: 'integer',
    default: '10000',
    min: 1,
    max: 100_000,
    why: 'Keys of a snapshot that is sent whole to a caller who does not page',
  },
  SERVICE_POLICY_MAX_PAGE_KEYS: {
    kind: 'integer',
    default: '5000',
    min: 1,
    max: 20_000,
    why: 'Keys of a snapshot’s page, and changes of a delta, at most',
  },
  SERVICE_MAX_ACTIVE_KEYS_PER_TENANT: {
    kind: 'integer',
    default: '10000',
    min: 1,
    max: 10_000_000,
    why: 'Keys a tenant may hold that are neither revoked nor expired',
  },
  SERVICE_EMBED_MAX_ACTIVE_KEYS: {
    kind: 'integer',
    default: '100',
    min: 1,
    max: 10_000_000,
    why: 'Active keys that a tenant may have made in the embed plane, by project and environment',
  },
  SERVICE_SIGNING_KEY: {
    kind: 'secret',
    default: null,
    min: 200,
    why: 'P-256 keys in PEM that sign embed tokens, best by SERVICE_SIGNING_KEY_FILE; unset: kept in the database',
  },
  SERVICE_PASSWORD_MIN_LENGTH: {
    kind: 'integer',
    default: '12',
    min: 8,
    max: 64,
    why: 'Characters of a new password at least; 256 at most',
  },
  SERVICE_SESSION_MAX_AGE_S: {
    kind: 'integer',
    default: '604800',
    min: 60,
    max: 31_536_000,
    why: 'How long a session lives, in seconds: 7 days',
  },
  SERVICE_SESSION_IDLE_S: {
    kind: 'integer',
    default: '86400',
    min: 60,
    max: 31_536_000,
    why: 'After how many seconds without a request a session ends: 24 hours',
  },
  SERVICE_AUTH_PER_IP: {
    kind: 'integer',
    default: null,
    min: 1,
    max: 100_000,
    why: 'Failed sign-ins a minute and client address (of IPv6 its /64); unset: not counted',
  },
  SERVICE_TRUST_PROXY: {
    kind: 'integer',
    default: '0',
    min: 0,
    max: 10,
    why: 'Proxy hops whose X-Forwarded-For is believed',
  },
  SERVICE_METRICS_PORT: {
    kind: 'integer',
    default: null,
    min: 0,
    max: 65_535,
    why: 'Prometheus text on a port of its own, never on the public one',
  },
  SERVICE_LOG_LEVEL: { kind: 'text', default: 'info', why: 'trace, debug, info, warn, error or silent' },
} as const satisfies Record<string, Setting>

export interface Config {
  host: string
  port: number
  /** Without a slash at the end. */
  publicUrl: string
  dataDir: string
  databaseUrl: string | null
  databaseDirectUrl: string | null
  databasePool: number
  redisUrl: string | null
  bootstrapToken: string | null
  hotAuthCacheMs: number
  revokeWaitMs: number
  policyMaxWholeKeys: number
  policyMaxPageKeys: number
  maxActiveKeysPerTenant: number
  embedMaxActiveKeys: number
  /** In PEM; null: kept in the database. */
  signingKey: string | null
  passwordMinLength: number
  sessionMaxAgeS: number
  sessionIdleS: number
  authPerIp: number | null
  trustProxyHops: number
  metricsPort: number | null
  logLevel: string
  mail: MailSettings
}

/** All faults of a configuration at once, so that one start is enough to mend them. */
export class ConfigError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(`The configuration cannot be used:\n${faults.map(fault => `  - ${fault}`).join('\n')}`)
    this.faults = faults
  }
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/**
 * Reads the settings. `NAME_FILE` gives a setting's value from a file, for secrets.
 * An empty value counts as unset.
 * @throws {ConfigError} naming every bad value, without ever quoting a secret.
 */
export function readConfig(env: Record<string, string | undefined>): { config: Config; warnings: string[] } {
  const faults: string[] = []
  const names = Object.keys(settings) as (keyof typeof settings)[]
  const raw = new Map(names.map(name => [name, rawValue(name, env, faults)]))

  const text = (name: keyof typeof settings) => raw.get(name) ?? settings[name].default
  const integer = (name: keyof typeof settings): number | null => {
    const value = text(name)
    if (value === null) return null
    const { min = 0, max = Number.MAX_SAFE_INTEGER } = settings[name] as Setting
    const number = Number(value)
    if (!/^\d{1,15}$/.test(value) || number < min || number > max) {
      faults.push(`${name} must be a whole number from ${min} to ${max}, not "${value}"`)
    }
    return number
  }
  const url = (name: keyof typeof settings, schemes: string[]) => {
    const value = text(name)
    if (value === null) return null
    if (!schemes.some(scheme => value.startsWith(`${scheme}://`)) || !URL.canParse(value)) {
      faults.push(`${name} must be a URL that begins with ${schemes.map(s => `${s}://`).join(' or ')}`)
    }
    return value.replace(/\/+$/, '')
  }
  // Several nodes of a cluster stand behind commas.
  const redisUrl = () => {
    const value = text('REDIS_URL')
    const isGood = value
      ?.split(/,(?=rediss?:\/\/)/)
      .every(one => /^rediss?:\/\//.test(one) && URL.canParse(one))
    if (isGood === false)
      faults.push(
        'REDIS_URL must be one or more URLs that begin with redis:// or rediss://, with commas between',
      )
    return value
  }
  const port = integer('SERVICE_PORT') ?? 8080
  const publicUrl = url('SERVICE_PUBLIC_URL', ['http', 'https'])
  const dataDir = resolve(text('SERVICE_DATA_DIR') ?? './data')
  const mail = readMailSettings(
    { url: text('SERVICE_MAIL_URL'), from: text('SERVICE_MAIL_FROM'), publicUrl, dataDir },
    (setting, message) => faults.push(`SERVICE_MAIL_${setting.toUpperCase()} ${message}`),
  )

  const config: Config = {
    host: text('SERVICE_HOST') ?? '127.0.0.1',
    port,
    publicUrl: publicUrl ?? `http://localhost:${port}`,
    dataDir,
    databaseUrl: url('DATABASE_URL', ['postgres', 'postgresql']),
    databaseDirectUrl: url('DATABASE_DIRECT_URL', ['postgres', 'postgresql']),
    databasePool: integer('SERVICE_DATABASE_POOL') ?? 10,
    redisUrl: redisUrl(),
    bootstrapToken: text('SERVICE_BOOTSTRAP_TOKEN'),
    hotAuthCacheMs: integer('SERVICE_HOT_AUTH_CACHE_MS') ?? 5_000,
    revokeWaitMs: integer('SERVICE_REVOKE_WAIT_MS') ?? 15_000,
    policyMaxWholeKeys: integer('SERVICE_POLICY_MAX_WHOLE_KEYS') ?? 10_000,
    policyMaxPageKeys: integer('SERVICE_POLICY_MAX_PAGE_KEYS') ?? 5_000,
    maxActiveKeysPerTenant: integer('SERVICE_MAX_ACTIVE_KEYS_PER_TENANT') ?? 10_000,
    embedMaxActiveKeys: integer('SERVICE_EMBED_MAX_ACTIVE_KEYS') ?? 100,
    signingKey: text('SERVICE_SIGNING_KEY'),
    passwordMinLength: integer('SERVICE_PASSWORD_MIN_LENGTH') ?? 12,
    sessionMaxAgeS: integer('SERVICE_SESSION_MAX_AGE_S') ?? 604_800,
    sessionIdleS: integer('SERVICE_SESSION_IDLE_S') ?? 86_400,
    authPerIp: integer('SERVICE_AUTH_PER_IP'),
    trustProxyHops: integer('SERVICE_TRUST_PROXY') ?? 0,
    metricsPort: integer('SERVICE_METRICS_PORT'),
    logLevel: text('SERVICE_LOG_LEVEL') ?? 'info',
    mail,
  }
  if (config.bootstrapToken !== null && config.bootstrapToken.length < 32) {
    faults.push('SERVICE_BOOTSTRAP_TOKEN must have at least 32 characters')
  }
  if (config.signingKey !== null && !isSigningPem(config.signingKey)) {
    faults.push('SERVICE_SIGNING_KEY must be one or more P-256 private keys in PEM, the first of which signs')
  }
  if (!levels.includes(config.logLevel)) faults.push(`SERVICE_LOG_LEVEL must be one of ${levels.join(', ')}`)
  if (faults.length > 0) throw new ConfigError(faults)
  return { config, warnings: unknownNames(env, names) }
}

function rawValue(name: string, env: Record<string, string | undefined>, faults: string[]): string | null {
  const file = env[`${name}_FILE`]
  if (!file) return env[name] || null
  if (env[name]) faults.push(`${name} and ${name}_FILE are both set; keep one`)
  try {
    return readFileSync(file, 'utf8').trim() || null
  } catch (error) {
    faults.push(`${name}_FILE cannot be read (${(error as NodeJS.ErrnoException).code})`)
    return null
  }
}

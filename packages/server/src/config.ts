import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type EncryptionKey, readEncryptionKeys } from './platform/crypto/encryption-keys.ts'
import { isSigningPem } from './platform/crypto/signing-keys.ts'
import { type MailSettings, readMailSettings } from './platform/mail/settings.ts'
import { unknownNames } from './setting-names.ts'
import { type Setting, settings } from './settings.ts'

export interface Config {
  host: string
  port: number
  maxConnections: number
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
  maxHeldPolls: number
  maxHeldPollsPerWorkspace: number
  maxStoredAnswerBytesPerWorkspace: number
  maxCountersPerWorkspace: number
  signUp: SignUpMode
  maxWorkspacesPerPerson: number
  maxActiveSecretKeys: number
  maxActiveKeysPerTenant: number
  embedMaxActiveKeys: number
  /** In PEM; null: kept in the database. */
  signingKey: string | null
  /** The first seals, all open; none: those of the embedded database. */
  encryptionKeys: readonly EncryptionKey[]
  passwordMinLength: number
  sessionMaxAgeS: number
  sessionIdleS: number
  authPerIp: number | null
  trustProxyHops: number
  codehostKeysUrl: string
  /** Read in place of the URL. */
  codehostKeysFile: string | null
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

const signUpModes = ['open', 'invited', 'closed'] as const
/** Who may make an account. */
export type SignUpMode = (typeof signUpModes)[number]

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** URLs that hold a password. */
const credentialUrls = /^(DATABASE_URL|DATABASE_DIRECT_URL|REDIS_URL|SERVICE_MAIL_URL)$/

/** The files that hold secrets of the configuration, by the setting that names them. */
export const secretFiles = (env: Record<string, string | undefined>): [setting: string, path: string][] =>
  Object.entries(settings)
    .filter(([name, { kind }]) => kind === 'secret' || credentialUrls.test(name))
    .map(([name]): [string, string] => [`${name}_FILE`, env[`${name}_FILE`] ?? ''])
    .filter(([, path]) => path !== '')

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
  const encryptionKeys = () => {
    const read = readEncryptionKeys(text('SERVICE_ENCRYPTION_KEY') ?? '')
    faults.push(...read.faults.map(fault => `SERVICE_ENCRYPTION_KEY: ${fault}`))
    return read.keys
  }
  /** The process that listens may run in another folder. */
  const path = (name: keyof typeof settings) => {
    const given = text(name)
    return given === null ? null : resolve(given)
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
    maxConnections: integer('SERVICE_MAX_CONNECTIONS') ?? 25_000,
    publicUrl: publicUrl ?? `http://localhost:${port}`,
    dataDir,
    databaseUrl: url('DATABASE_URL', ['postgres', 'postgresql']),
    databaseDirectUrl: url('DATABASE_DIRECT_URL', ['postgres', 'postgresql']),
    databasePool: integer('SERVICE_DATABASE_POOL') ?? 20,
    redisUrl: redisUrl(),
    bootstrapToken: text('SERVICE_BOOTSTRAP_TOKEN'),
    hotAuthCacheMs: integer('SERVICE_HOT_AUTH_CACHE_MS') ?? 5_000,
    revokeWaitMs: integer('SERVICE_REVOKE_WAIT_MS') ?? 15_000,
    policyMaxWholeKeys: integer('SERVICE_POLICY_MAX_WHOLE_KEYS') ?? 10_000,
    policyMaxPageKeys: integer('SERVICE_POLICY_MAX_PAGE_KEYS') ?? 5_000,
    maxHeldPolls: integer('SERVICE_MAX_HELD_POLLS') ?? 20_000,
    maxHeldPollsPerWorkspace: integer('SERVICE_MAX_HELD_POLLS_PER_WORKSPACE') ?? 10_000,
    maxStoredAnswerBytesPerWorkspace:
      integer('SERVICE_MAX_STORED_ANSWER_BYTES_PER_WORKSPACE') ?? 10_737_418_240,
    maxCountersPerWorkspace: integer('SERVICE_MAX_COUNTERS_PER_WORKSPACE') ?? 1_000_000,
    signUp: text('SERVICE_SIGN_UP') as SignUpMode,
    maxWorkspacesPerPerson: integer('SERVICE_MAX_WORKSPACES_PER_PERSON') ?? 25,
    maxActiveSecretKeys: integer('SERVICE_MAX_ACTIVE_SECRET_KEYS') ?? 1_000,
    maxActiveKeysPerTenant: integer('SERVICE_MAX_ACTIVE_KEYS_PER_TENANT') ?? 10_000,
    embedMaxActiveKeys: integer('SERVICE_EMBED_MAX_ACTIVE_KEYS') ?? 100,
    signingKey: text('SERVICE_SIGNING_KEY'),
    encryptionKeys: encryptionKeys(),
    passwordMinLength: integer('SERVICE_PASSWORD_MIN_LENGTH') ?? 12,
    sessionMaxAgeS: integer('SERVICE_SESSION_MAX_AGE_S') ?? 604_800,
    sessionIdleS: integer('SERVICE_SESSION_IDLE_S') ?? 86_400,
    authPerIp: integer('SERVICE_AUTH_PER_IP'),
    trustProxyHops: integer('SERVICE_TRUST_PROXY') ?? 0,
    codehostKeysUrl: url('SERVICE_CODEHOST_KEYS_URL', ['https']) ?? '',
    codehostKeysFile: path('SERVICE_CODEHOST_KEYS_FILE'),
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
  if (!signUpModes.includes(config.signUp))
    faults.push(`SERVICE_SIGN_UP must be one of ${signUpModes.join(', ')}`)
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

import { type EncryptionKey, readEncryptionKeys } from './platform/crypto/encryption-keys.ts'
import { isSigningPem } from './platform/crypto/signing-keys.ts'
import { coresOf } from './platform/host/cores.ts'
import { type MailSettings, readMailSettings } from './platform/mail/settings.ts'
import { isLoopback } from './platform/network/loopback.ts'
import type { TrustedProxies } from './platform/network/trusted-proxies.ts'
import type { Setting } from './setting.ts'
import { unknownNames } from './setting-names.ts'
import { fileOf, readValue, writtenValue } from './setting-values.ts'
import { settings } from './settings.ts'

type Settings = typeof settings

/** `LOG_LEVEL` as `logLevel`. */
type Camel<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Lowercase<Word>}${Capitalize<Camel<Rest>>}`
  : Lowercase<Name>

/** The field of a setting: `SERVICE_LOG_LEVEL` is `logLevel`. */
type FieldOf<Name extends string> = Camel<Name extends `SERVICE_${infer Rest}` ? Rest : Name>

export const fieldOf = (name: string): string =>
  name
    .replace(/^SERVICE_/, '')
    .toLowerCase()
    .replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

type Value<S> = S extends { orWord: infer Word }
  ? number | Word
  : S extends { kind: 'integer' }
    ? number
    : S extends { kind: 'proxies' }
      ? TrustedProxies
      : S extends { oneOf: readonly (infer Word)[] }
        ? Word
        : string

/** Each setting as its kind has it; null where it is unset and has no default. */
type Given = {
  -readonly [Name in keyof Settings as FieldOf<Name>]: Settings[Name] extends { default: string }
    ? Value<Settings[Name]>
    : Value<Settings[Name]> | null
}

type MailField = 'mailUrl' | 'mailFrom' | 'mailEhloName'

/** The settings, by fields of their names; some of them made ready for use. */
export interface Config extends Omit<Given, 'publicUrl' | 'encryptionKey' | 'processes' | MailField> {
  /** How many processes share the port. */
  processes: number
  /** Whether their number follows the machine, and the connections that its database has. */
  isProcessesAuto: boolean
  /** Without a trailing slash. */
  publicUrl: string
  /** The first key seals, all of them open; empty: those of the embedded database. */
  encryptionKeys: readonly EncryptionKey[]
  mail: MailSettings
  /** Whether the environment configures OpenTelemetry, whose own libraries read it. */
  isTraced: boolean
  /** The files that these values were read from, and are read from again when a connection opens. */
  valueFiles: ValueFiles
  /** Whether PGPASSWORD has a password for URLs without one; the driver reads it. */
  hasPgPassword: boolean
}

const readAgain = ['DATABASE_URL', 'DATABASE_DIRECT_URL', 'REDIS_URL'] as const
type ValueFiles = { readonly [Name in (typeof readAgain)[number] as FieldOf<Name>]?: string }

/** All faults of a configuration, so that one start shows everything to fix. */
export class ConfigError extends Error {
  readonly faults: readonly string[]
  /** A misspelt setting often explains a fault. */
  readonly warnings: readonly string[]
  constructor(faults: readonly string[], warnings: readonly string[]) {
    super(`The configuration is invalid:\n${faults.map(fault => `  - ${fault}`).join('\n')}`)
    this.faults = faults
    this.warnings = warnings
  }
}

const linksLeadHere =
  'SERVICE_PUBLIC_URL is not set, and SERVICE_MAIL_URL sends mail elsewhere: links in letters lead to localhost'

/** Whether people read its letters on other machines, as far as the server that takes them says. */
const leavesMachine = ({ route }: MailSettings): boolean => route.kind === 'smtp' && !isLoopback(route.host)

/** The files with secrets of the configuration, by setting. */
export const secretFiles = (env: Record<string, string | undefined>): [setting: string, path: string][] =>
  Object.entries<Setting>(settings)
    .filter(([, { kind, holdsPassword, holdsSecret }]) => kind === 'secret' || holdsPassword || holdsSecret)
    .map(([name, { holdsSecret }]) => (holdsSecret ? name : `${name}_FILE`))
    .map((name): [string, string] => [name, env[name]?.trim() ?? ''])
    .filter(([, path]) => path !== '')

/**
 * Reads the settings. `NAME_FILE` names a file with the value of `NAME`, for secrets. An empty value counts as unset.
 * @throws {ConfigError} naming every bad value, without ever quoting a secret.
 */
export function readConfig(env: Record<string, string | undefined>): { config: Config; warnings: string[] } {
  const faults: string[] = []
  const fault = (message: string) => void faults.push(message)
  const fields = Object.entries<Setting>(settings).map(([name, setting]) => {
    const text = writtenValue(name, env, fault) ?? setting.default
    return [fieldOf(name), text === null ? null : readValue(name, setting, text, fault)]
  })
  const { encryptionKey, mailUrl, mailFrom, mailEhloName, processes, ...given } = Object.fromEntries(
    fields,
  ) as Given
  const { port, publicUrl, dataDir, bootstrapToken, signingKey, tlsCertFile, tlsKeyFile } = given

  const { keys, faults: keyFaults } = readEncryptionKeys(encryptionKey ?? '')
  for (const message of keyFaults) fault(`SERVICE_ENCRYPTION_KEY: ${message}`)
  const written = { url: mailUrl, from: mailFrom, ehloName: mailEhloName, publicUrl, dataDir }
  const mail = readMailSettings(written, (setting, message) => fault(`SERVICE_MAIL_${setting} ${message}`))
  const { min } = settings.SERVICE_BOOTSTRAP_TOKEN
  if (bootstrapToken !== null && bootstrapToken.length < min)
    fault(`SERVICE_BOOTSTRAP_TOKEN must have at least ${min} characters`)
  if (signingKey !== null && !isSigningPem(signingKey))
    fault('SERVICE_SIGNING_KEY must be one or more P-256 private keys in PEM; the first one signs')
  if ((tlsCertFile === null) !== (tlsKeyFile === null))
    fault('SERVICE_TLS_CERT_FILE and SERVICE_TLS_KEY_FILE must both be set, or neither')
  const isTraced = env.OTEL_SDK_DISABLED !== 'true' && Object.keys(env).some(name => name.startsWith('OTEL_'))
  const warnings = [
    ...unknownNames(env, Object.keys(settings)),
    ...(publicUrl === null && leavesMachine(mail) ? [linksLeadHere] : []),
  ]
  if (faults.length > 0) throw new ConfigError(faults, warnings)
  return {
    config: {
      ...given,
      publicUrl: publicUrl ?? `${tlsCertFile === null ? 'http' : 'https'}://localhost:${port}`,
      processes: processes === 'auto' ? Math.min(coresOf(), settings.SERVICE_PROCESSES.max) : processes,
      isProcessesAuto: processes === 'auto',
      encryptionKeys: keys,
      mail,
      isTraced,
      valueFiles: valueFilesOf(env),
      hasPgPassword: Boolean(env.PGPASSWORD),
    },
    warnings,
  }
}

const valueFilesOf = (env: Record<string, string | undefined>): ValueFiles =>
  Object.fromEntries(
    readAgain.flatMap(name => {
      const path = fileOf(name, env)
      return path === null ? [] : [[fieldOf(name), path]]
    }),
  )

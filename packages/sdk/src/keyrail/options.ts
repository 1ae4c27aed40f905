import { type AdminOptions, adminOptionNames } from '../admin/options.ts'
import {
  type ConnectionOptions,
  connectionNames,
  type ErrorOptions,
  refuseUnknown,
} from '../http/connection-options.ts'
import { environment, readFunction, readProject, readUrl } from '../http/option-values.ts'
import { readSecretKey } from '../http/secret-key.ts'
import { type IdempotencyOptions, idempotencyOptionNames } from '../idempotency/idempotent.ts'
import { type KeyringOptions, optionNames } from '../keyring/options.ts'
import { type LimiterOptions, limiterOptionNames } from '../limits/limit.ts'
import { type UsageReporterOptions, usageReporterOptionNames } from '../usage/reporter-options.ts'

/** The options of one part, without those that all parts share. */
export type PartOptions<Options> = Omit<Options, keyof ConnectionOptions | keyof ErrorOptions | 'project'>

/** Options of `createKeyrail`: the connection, and the own options of each part. */
export interface KeyrailOptions extends ConnectionOptions, ErrorOptions {
  /** Id of the project to protect. Default: `KEYRAIL_PROJECT`. `usage` and `admin` do not need it. */
  project?: string | undefined
  /** Options of the keyring, such as `tenantIds` and `cacheDir`. */
  keys?: PartOptions<KeyringOptions> | undefined
  /** Such as `onUnavailable`. */
  limiter?: PartOptions<LimiterOptions> | undefined
  /** Such as `maxRunMs`. */
  idempotency?: PartOptions<IdempotencyOptions> | undefined
  /** Such as `sampleRate`. */
  usage?: PartOptions<UsageReporterOptions> | undefined
  /** Such as `maxRetries`. */
  admin?: PartOptions<AdminOptions> | undefined
}

const shared: readonly string[] = ['url', 'secretKey', 'project', 'insecure', 'fetch', 'onError']

/** All options of each part. */
const ofParts = {
  keys: optionNames,
  limiter: limiterOptionNames,
  idempotency: idempotencyOptionNames,
  usage: usageReporterOptionNames,
  admin: adminOptionNames,
} as const

const known: { readonly [Name in keyof Required<KeyrailOptions>]: true } = {
  ...connectionNames,
  project: true,
  onError: true,
  keys: true,
  limiter: true,
  idempotency: true,
  usage: true,
  admin: true,
}

/** The options, read and checked. */
export interface KeyrailSettings extends Pick<KeyrailOptions, keyof typeof ofParts> {
  connection: ConnectionOptions & ErrorOptions
  project: string | undefined
}

/** @throws TypeError naming a missing or wrong option; it never shows the secret key */
export function readKeyrailOptions(options: KeyrailOptions): KeyrailSettings {
  refuseUnknown('createKeyrail', options, known)
  for (const [part, names] of Object.entries(ofParts)) {
    const own = names.filter(name => !shared.includes(name)).map(name => [name, true] as const)
    const { [part as keyof typeof ofParts]: given = {} } = options
    refuseUnknown(`${part} of createKeyrail`, given, Object.fromEntries(own))
  }
  const { url, insecure, keys, limiter, idempotency, usage, admin } = options
  const hasProject = options.project !== undefined || environment('KEYRAIL_PROJECT') !== undefined
  const connection = {
    url: readUrl(url, insecure),
    secretKey: readSecretKey(options.secretKey),
    insecure,
    fetch: readFunction('fetch', options.fetch),
    onError: readFunction('onError', options.onError),
  }
  const project = hasProject ? readProject(options.project) : undefined
  return { connection, project, keys, limiter, idempotency, usage, admin }
}

import { type AdminOptions, adminOptionNames } from '../admin/open.ts'
import { type ConnectionOptions, type ErrorOptions, refuseUnknown } from '../http/connection-options.ts'
import { environment, readFunction, readProject, readUrl } from '../http/option-values.ts'
import { readSecretKey } from '../http/secret-key.ts'
import { type IdempotencyOptions, idempotencyOptionNames } from '../idempotency/idempotent.ts'
import { type KeyringOptions, optionNames } from '../keyring/options.ts'
import { type LimiterOptions, limiterOptionNames } from '../limits/limit.ts'
import { type UsageReporterOptions, usageReporterOptionNames } from '../usage/reporter.ts'

/** What the maker of a part takes beyond what all parts share. */
export type PartOptions<Options> = Omit<Options, keyof ConnectionOptions | keyof ErrorOptions | 'projectId'>

/** What `createKeyrail` takes: the connection, and for each part what is its own. */
export interface KeyrailOptions extends Omit<ConnectionOptions, 'baseUrl'>, ErrorOptions {
  /** Address of the Keyrail service, such as `https://keys.example.com`; `KEYRAIL_URL` unless given. */
  url?: ConnectionOptions['baseUrl']
  /** The project that is protected; `KEYRAIL_PROJECT` unless given. `usage` and `admin` do without. */
  project?: string | undefined
  /** Of the keyring: such as `tenantIds`, `cacheDir`. */
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

const shared: readonly string[] = ['baseUrl', 'secretKey', 'projectId', 'insecure', 'fetch', 'onError']

/** Every option of a part's maker. */
const ofParts = {
  keys: optionNames,
  limiter: limiterOptionNames,
  idempotency: idempotencyOptionNames,
  usage: usageReporterOptionNames,
  admin: adminOptionNames,
} as const

const known: { readonly [Name in keyof Required<KeyrailOptions>]: true } = {
  url: true,
  secretKey: true,
  project: true,
  insecure: true,
  fetch: true,
  onError: true,
  keys: true,
  limiter: true,
  idempotency: true,
  usage: true,
  admin: true,
}
export const keyrailOptionNames = Object.keys(known)

/** What parts are made with. */
export interface KeyrailSettings extends Pick<KeyrailOptions, keyof typeof ofParts> {
  connection: ConnectionOptions & ErrorOptions
  /** @throws TypeError where there is no project */
  ofProject(): ConnectionOptions & ErrorOptions & { projectId: string }
}

/** @throws TypeError naming the option that is missing or wrong; it never shows the secret key */
export function readKeyrailOptions(options: KeyrailOptions): KeyrailSettings {
  refuseUnknown('createKeyrail', options, known)
  for (const [part, names] of Object.entries(ofParts)) {
    const own = names.filter(name => !shared.includes(name)).map(name => [name, true] as const)
    const { [part as keyof typeof ofParts]: given = {} } = options
    refuseUnknown(`${part} of createKeyrail`, given, Object.fromEntries(own))
  }
  const { url, insecure, project = environment('KEYRAIL_PROJECT'), keys, limiter } = options
  const { idempotency, usage, admin } = options
  if (project !== undefined) readProject(project, 'project')
  const connection = {
    baseUrl: readUrl(url, insecure, 'url'),
    secretKey: readSecretKey(options.secretKey),
    insecure,
    fetch: readFunction('fetch', options.fetch),
    onError: readFunction('onError', options.onError),
  }
  const ofProject = () => ({ ...connection, projectId: readProject(project, 'project') })
  return { connection, ofProject, keys, limiter, idempotency, usage, admin }
}

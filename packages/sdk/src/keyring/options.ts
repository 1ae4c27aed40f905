import { KEY_BYTES } from '../feed/quota.ts'
import { judged, type Scope } from '../feed/record.ts'
import {
  type ConnectionOptions,
  connectionNames,
  type ErrorOptions,
  refuseUnknown,
} from '../http/connection-options.ts'
import {
  readBoolean,
  readInteger,
  readProject,
  readSecretKeyEnv,
  readUrl,
  readUuid,
} from '../http/option-values.ts'
import { readSecretKey, type SecretKeySource } from '../http/secret-key.ts'
import { makeNodeId } from '../runtime/node-id.ts'
import type { Notice } from '../runtime/reports.ts'
import type { Refused, Verdict } from '../verify/verdict.ts'
import type { Requirements } from '../verify/verify.ts'
import type { OnUnknownKey } from './imported-customer.ts'
import { keyMemory } from './memory-limit.ts'

/** Options of `createKeyring`. */
export interface KeyringOptions extends ConnectionOptions, ErrorOptions {
  /** Id of the project whose keys are verified. Default: `KEYRAIL_PROJECT`. */
  project?: string | undefined
  /** Which keys are accepted. Default: the environment of the secret key, or `live` if `secretKey` is a function. */
  env?: 'live' | 'test' | 'both' | undefined
  /** Holds only the keys of these tenants, at most 50. Empty or absent: all keys of the project. */
  tenantIds?: readonly string[] | undefined
  /** How often to ask for changes if the service does not hold its answers, in ms. Default: 5,000. */
  pollIntervalMs?: number | undefined
  /** How long keys are served without being confirmed, in ms. Default and maximum: 60,000. */
  cachedTtlMs?: number | undefined
  /** How long `ready()` waits for keys before it rejects, in ms. The keyring goes on trying. Default: without a limit. */
  readyTimeoutMs?: number | undefined
  /** How many keys are held before the store raises this limit by itself. Default: 10,000. */
  maxCachedKeys?: number | undefined
  /**
   * How far the store may raise that limit; `memory`: as far as a quarter of the memory of the container or machine reaches.
   * Default: 38,000.
   */
  maxAutoCachedKeys?: number | 'memory' | undefined
  /**
   * A directory for a copy of the keys, so that a new process can serve at once. Created with access for its owner only; one
   * that others can write to is not used. Use one directory for each set of `tenantIds`.
   */
  cacheDir?: string | undefined
  /**
   * Decides about a key that cannot be verified (`not_ready`, `stale`, `not_held`). If it returns a `Valid` that fits
   * environment, scopes and expiry, and whose tenant is not known to be suspended, the key passes, unless the networks of key or
   * tenant are known and the address is in none of them. It is given what the request requires, with the address of the caller. Otherwise, and by
   * default, the key is refused.
   */
  onUnavailable?: ((refusal: Refused, key: string, requirements?: Requirements) => Verdict) | undefined
  /**
   * Name of this node, unique in the fleet. Default: host name, process id and a random suffix. With a name of your own, `close()`
   * does not tell the service that the node has stopped.
   */
  node?: string | undefined
  /** Receives notices: conditions that do not stop the keyring. Without it, they become process warnings. */
  onNotice?: ((notice: Notice) => void) | undefined
  /** Verdicts have `externalId`, your own id of the tenant. Default: true. */
  externalId?: boolean | undefined
  /** Verdicts have the `meta` of the key, null if it exceeds 2 KiB. It is held in memory. Default: true. */
  keyMeta?: boolean | undefined
  /**
   * Adds `keyName`, `tenantName` and `tenantMeta` to verdicts, if the secret key has the permission `policy:labels`. Default: false.
   */
  labels?: boolean | undefined
  /**
   * Your own check of a key that the feed does not have, such as one of bcrypt, which cannot be looked up. Only gates ask it, such as
   * `requireKey`, once for a key, for at most 64 keys at once, and wait 5,000 ms. The key is imported for the customer that it returns,
   * and judged as any other once the feed has it; meanwhile its request waits. Needs `importWith`.
   */
  onUnknownKey?: OnUnknownKey | undefined
  /** A secret key with the permission `keys:import`, or a function that returns one, which imports what `onUnknownKey` accepts. */
  importWith?: SecretKeySource | undefined
  /**
   * Gates judge and count, and refuse nothing: they hand the verdict to the handler as `keyrail`. For the time beside an old check.
   * Default: false.
   */
  shadow?: boolean | undefined
  /** Adds `externalId`, and with `policy:labels` the names. Default: false. */
  names?: boolean | undefined
  /** Adds `meta` of the key, and with `policy:labels` `tenantMeta`. Default: false. */
  meta?: boolean | undefined
}

/** The options, read, checked and completed. */
export interface Settings {
  url: URL
  secretKey: SecretKeySource
  env: 'live' | 'test' | 'both'
  scope: Scope
  pollIntervalMs: number
  cachedTtlMs: number
  readyTimeoutMs: number | undefined
  maxCachedKeys: number
  maxAutoCachedKeys: number
  keyMemory?: number | undefined
  cacheDir: string | undefined
  onUnavailable: KeyringOptions['onUnavailable']
  /** The vendor's own check, and what imports. */
  own?: { check: OnUnknownKey; importWith: SecretKeySource } | undefined
  isShadow?: boolean | undefined
  node: string
  /**
   * Whether the node tells the service that it has stopped. Not with keys on a disk, which the next process serves before its first
   * answer; nor with a name that another process may have too.
   */
  tellsEnd: boolean
  fetch: typeof globalThis.fetch | undefined
  onError: KeyringOptions['onError']
  onNotice: KeyringOptions['onNotice']
}

/** The name of every option, so that a misspelt one is an error and not the default. */
const known: { readonly [Name in keyof Required<KeyringOptions>]: true } = {
  ...connectionNames,
  project: true,
  env: true,
  tenantIds: true,
  pollIntervalMs: true,
  cachedTtlMs: true,
  readyTimeoutMs: true,
  maxCachedKeys: true,
  maxAutoCachedKeys: true,
  cacheDir: true,
  onUnavailable: true,
  node: true,
  onError: true,
  onNotice: true,
  externalId: true,
  keyMeta: true,
  labels: true,
  names: true,
  meta: true,
  onUnknownKey: true,
  importWith: true,
  shadow: true,
}
export const optionNames = Object.keys(known)

const DAY_MS = 86_400_000

/**
 * @param host begins the default name of this node
 * @throws TypeError naming the wrong option; it never shows the secret key
 */
export function readOptions(options: KeyringOptions, host?: string): Settings {
  refuseUnknown('createKeyring', options, known)
  const { node = makeNodeId(host), fetch } = options
  const url = readUrl(options.url, options.insecure)
  const secretKey = readSecretKey(options.secretKey)
  const keyEnv = typeof secretKey === 'string' ? readSecretKeyEnv(secretKey) : 'live'
  const env = options.env ?? keyEnv
  if (env !== 'live' && env !== 'test' && env !== 'both')
    throw new TypeError('env must be live, test or both')
  if (typeof secretKey === 'string' && keyEnv === 'test' && env !== 'test')
    throw new TypeError(`a test secret key cannot see env ${env}: give a live one, or leave env out`)
  const project = readProject(options.project)

  const pollIntervalMs = readInteger('pollIntervalMs', options.pollIntervalMs ?? 5_000, 100, DAY_MS)
  // At most 60 s: the service assumes that a node without a request for 90 s serves no keys.
  const cachedTtlMs = readInteger('cachedTtlMs', options.cachedTtlMs ?? 60_000, 100, 60_000)
  if (cachedTtlMs <= pollIntervalMs) throw new TypeError('cachedTtlMs must be greater than pollIntervalMs')
  const { readyTimeoutMs } = options
  if (readyTimeoutMs !== undefined) readInteger('readyTimeoutMs', readyTimeoutMs, 1, DAY_MS)
  const maxCachedKeys = readInteger('maxCachedKeys', options.maxCachedKeys ?? 10_000, 1, 10_000_000)
  const most = readMostKeys(options.maxAutoCachedKeys ?? 38_000)
  if (typeof node !== 'string' || !/^[A-Za-z0-9._:-]{1,128}$/.test(node)) {
    throw new TypeError('node must be 1 to 128 of A-Z a-z 0-9 . _ : -')
  }
  const { cacheDir } = options
  if (cacheDir !== undefined && (typeof cacheDir !== 'string' || cacheDir === '' || cacheDir.includes('\0')))
    throw new TypeError('cacheDir must be the path of a directory')
  for (const name of ['fetch', 'onError', 'onNotice', 'onUnavailable'] as const) {
    const value = name === 'fetch' ? fetch : options[name]
    if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name} must be a function`)
  }
  return {
    url,
    secretKey,
    env,
    scope: {
      projectId: project,
      env,
      tenantIds: readTenantIds(options.tenantIds ?? []),
      features: readFeatures(options),
      service: url.origin + url.pathname,
    },
    pollIntervalMs,
    cachedTtlMs,
    readyTimeoutMs,
    maxCachedKeys,
    ...most,
    cacheDir,
    onUnavailable: options.onUnavailable,
    ...readMigration(options),
    node,
    tellsEnd: options.node === undefined && cacheDir === undefined,
    fetch,
    onError: options.onError,
    onNotice: options.onNotice,
  }
}

/** Absent members are left out, as most keyrings need none. */
function readMigration(options: KeyringOptions): Pick<Settings, 'own' | 'isShadow'> {
  const { onUnknownKey: check, importWith, shadow } = options
  const isShadow = readBoolean('shadow', shadow ?? false)
  if (check !== undefined && typeof check !== 'function')
    throw new TypeError('onUnknownKey must be a function')
  if ((check === undefined) !== (importWith === undefined))
    throw new TypeError('onUnknownKey needs importWith, a secret key with the permission keys:import')
  if (check === undefined || importWith === undefined) return isShadow ? { isShadow } : {}
  if (typeof importWith !== 'function') readSecretKeyEnv(importWith, 'importWith')
  return { own: { check, importWith }, ...(isShadow && { isShadow }) }
}

const KEYS_MOST = 10_000_000

function readMostKeys(given: number | 'memory'): Pick<Settings, 'maxAutoCachedKeys' | 'keyMemory'> {
  if (given === 'memory') {
    const bytes = keyMemory()
    return { maxAutoCachedKeys: Math.min(KEYS_MOST, Math.floor(bytes / KEY_BYTES)), keyMemory: bytes }
  }
  if (typeof given === 'string') throw new TypeError("maxAutoCachedKeys must be a number or 'memory'")
  return { maxAutoCachedKeys: readInteger('maxAutoCachedKeys', given, 0, KEYS_MOST) }
}

/** The feature of the feed that each option asks for, sorted by the features. */
const featureOf = {
  externalId: 'external_id',
  keyMeta: 'key_meta',
  labels: 'labels',
  meta: 'meta',
  names: 'names',
} as const

/** Features with the vendor's own data that are in every verdict. Names, and the `meta` of tenants, need a permission. */
const ours: ReadonlySet<string> = new Set<keyof typeof featureOf>(['externalId', 'keyMeta'])

function readFeatures(options: KeyringOptions): string[] {
  const chosen = (Object.keys(featureOf) as (keyof typeof featureOf)[])
    .filter(name => readBoolean(name, options[name] ?? ours.has(name)))
    .map(name => featureOf[name])
  return [...judged, ...chosen].toSorted()
}

function readTenantIds(value: unknown): string[] {
  if (!Array.isArray(value)) throw new TypeError('tenantIds must be an array')
  const ids = [...new Set(value.map((each, at) => readUuid(`tenantIds.${at}`, each)))].sort()
  if (ids.length > 50) throw new TypeError('tenantIds takes at most 50 tenants')
  return ids
}

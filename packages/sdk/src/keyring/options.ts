import type { Scope } from '../feed/record.ts'
import type { ConnectionOptions, ErrorOptions } from '../http/connection-options.ts'
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

/** What `createKeyring` takes. */
export interface KeyringOptions extends ConnectionOptions, ErrorOptions {
  /** The project whose keys are verified; `KEYRAIL_PROJECT` unless given. */
  projectId?: string | undefined
  /** Which keys are taken. Unless given, those of the environment that the secret key is of, and `live` where a function returns it. */
  env?: 'live' | 'test' | 'both' | undefined
  /** Narrows the keyring to the keys of these tenants, 50 at most. Empty or absent: the whole project. */
  tenantIds?: readonly string[] | undefined
  /** How often changes are asked for where the service does not hold its answers, 5,000 ms unless given. */
  pollIntervalMs?: number | undefined
  /** How long what is known is served without being confirmed again, 60,000 ms unless given, and at most. */
  cachedTtlMs?: number | undefined
  /** How many keys are held before the store raises its bound by itself, 10,000 unless given. */
  maxCachedKeys?: number | undefined
  /** How far it may raise it, 38,000 unless given. */
  maxAutoCachedKeys?: number | undefined
  /**
   * A directory for a copy of the keys, so that a process that starts anew serves at once. Made for its owner alone;
   * one that others could write to is not used. One for each set of tenants.
   */
  cacheDir?: string | undefined
  /**
   * Asked what to do with a key that cannot be judged (`not_ready`, `stale`, `not_held`). A `Valid` that it returns
   * lets the key pass, where environment, scopes and expiry fit; after anything else the refusal stands, as it does
   * unless this is given.
   */
  onUnavailable?: ((refusal: Refused, key: string) => Verdict) | undefined
  /** Name of this node, unique in the fleet. Unless given, made of host name, process id and a random suffix. */
  node?: string | undefined
  /** Told of what worked but matters. Without it, a process warning. */
  onNotice?: ((notice: Notice) => void) | undefined
  /** Adds `externalId`, `tenantName` and `keyName` to verdicts. They are held in memory, so false unless given. */
  names?: boolean | undefined
  /** Adds `meta` of the key and `tenantMeta` to verdicts, each null above 2 KiB. False unless given. */
  meta?: boolean | undefined
}

/** Every option read, checked and filled in. */
export interface Settings {
  baseUrl: URL
  secretKey: SecretKeySource
  env: 'live' | 'test' | 'both'
  scope: Scope
  pollIntervalMs: number
  cachedTtlMs: number
  maxCachedKeys: number
  maxAutoCachedKeys: number
  cacheDir: string | undefined
  onUnavailable: KeyringOptions['onUnavailable']
  node: string
  fetch: typeof globalThis.fetch
  onError: KeyringOptions['onError']
  onNotice: KeyringOptions['onNotice']
}

/** Name of every option, so that a misspelt one is an error instead of a default. */
const known: { readonly [Name in keyof Required<KeyringOptions>]: true } = {
  baseUrl: true,
  secretKey: true,
  insecure: true,
  projectId: true,
  env: true,
  tenantIds: true,
  pollIntervalMs: true,
  cachedTtlMs: true,
  maxCachedKeys: true,
  maxAutoCachedKeys: true,
  cacheDir: true,
  onUnavailable: true,
  node: true,
  fetch: true,
  onError: true,
  onNotice: true,
  names: true,
  meta: true,
}
export const optionNames = Object.keys(known)

const DAY_MS = 86_400_000

/**
 * @param host begins the name of this node, unless it is given
 * @throws TypeError naming the option that is wrong; it never shows the secret key
 */
export function readOptions(options: KeyringOptions, host?: string): Settings {
  if (typeof options !== 'object' || options === null)
    throw new TypeError('createKeyring takes an object of options')
  const unknown = Object.keys(options).find(name => !Object.hasOwn(known, name))
  if (unknown !== undefined) throw new TypeError(`createKeyring has no option "${unknown}"`)

  const { node = makeNodeId(host), fetch = globalThis.fetch } = options
  const baseUrl = readUrl(options.baseUrl, options.insecure)
  const secretKey = readSecretKey(options.secretKey)
  const keyEnv = typeof secretKey === 'string' ? readSecretKeyEnv(secretKey) : 'live'
  const env = options.env ?? keyEnv
  if (env !== 'live' && env !== 'test' && env !== 'both')
    throw new TypeError('env must be live, test or both')
  if (typeof secretKey === 'string' && keyEnv === 'test' && env !== 'test')
    throw new TypeError(`a test secret key cannot see env ${env}: give a live one, or leave env out`)
  const projectId = readProject(options.projectId)

  const pollIntervalMs = readInteger('pollIntervalMs', options.pollIntervalMs ?? 5_000, 100, DAY_MS)
  // No more: the service takes a node that it has not heard of for 90 s to serve no key any longer.
  const cachedTtlMs = readInteger('cachedTtlMs', options.cachedTtlMs ?? 60_000, 100, 60_000)
  if (cachedTtlMs <= pollIntervalMs) throw new TypeError('cachedTtlMs must be greater than pollIntervalMs')
  const maxCachedKeys = readInteger('maxCachedKeys', options.maxCachedKeys ?? 10_000, 1, 10_000_000)
  const maxAutoCachedKeys = readInteger(
    'maxAutoCachedKeys',
    options.maxAutoCachedKeys ?? 38_000,
    0,
    10_000_000,
  )
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
    baseUrl,
    secretKey,
    env,
    scope: {
      projectId,
      env,
      tenantIds: readTenantIds(options.tenantIds ?? []),
      features: readFeatures(options),
    },
    pollIntervalMs,
    cachedTtlMs,
    maxCachedKeys,
    maxAutoCachedKeys,
    cacheDir,
    onUnavailable: options.onUnavailable,
    node,
    fetch,
    onError: options.onError,
    onNotice: options.onNotice,
  }
}

function readFeatures(options: KeyringOptions): string[] {
  return (['meta', 'names'] as const).filter(name => readBoolean(name, options[name] ?? false))
}

function readTenantIds(value: unknown): string[] {
  if (!Array.isArray(value)) throw new TypeError('tenantIds must be an array')
  const ids = [...new Set(value.map((each, at) => readUuid(`tenantIds.${at}`, each)))].sort()
  if (ids.length > 50) throw new TypeError('tenantIds takes at most 50 tenants')
  return ids
}

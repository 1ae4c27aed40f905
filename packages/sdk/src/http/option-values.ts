import { ofNode } from '../runtime/of-node.ts'
import { readKeyForm } from '../verify/token.ts'
import { mistakeOf } from './secret-key-mistakes.ts'

/** Reads options that several makers share. Each function throws a TypeError that names the option and shows no secret. */

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The environment of a secret key.
 *
 * @param name the name of the option or variable, for the error
 */
export function readSecretKeyEnv(secretKey: unknown, name = 'secretKey'): 'live' | 'test' {
  const env =
    typeof secretKey === 'string' && secretKey.startsWith('krsk_') ? readKeyForm(secretKey) : 'malformed'
  if (env === 'malformed') throw new TypeError(`${name} ${mistakeOf(secretKey)}`)
  return env
}

/** A KEYRAIL_… variable of the process: the default of an option. An empty one counts as unset. */
export const environment = (name: `KEYRAIL_${string}`): string | undefined =>
  ofNode(({ env }) => env[name]) || undefined

/** Hosts that always mean this machine. */
const loopback = /^(?:localhost|[\w.-]+\.localhost|127(?:\.\d+){3}|\[::1\])$/

/**
 * @param value the given address, by default `KEYRAIL_URL`
 * @param insecure whether the secret key may be sent unencrypted to another machine
 */
export function readUrl(value: unknown, insecure: unknown = false): URL {
  readBoolean('insecure', insecure)
  const name = value === undefined ? 'KEYRAIL_URL' : 'url'
  const given = value === undefined ? environment('KEYRAIL_URL') : value
  if (given === undefined) throw new TypeError('url is not given, and KEYRAIL_URL is not set')
  const text = String(given)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new TypeError(`${name} must be an http or https address, such as https://keys.example.com`)
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError(`${name} must have no user, query or fragment`)
  }
  if (/\/v1\/*$/.test(url.pathname)) {
    throw new TypeError(`${name} ends in /v1, which the SDK adds: leave it out`)
  }
  if (url.protocol === 'http:' && !insecure && !loopback.test(url.hostname)) {
    throw new TypeError(
      `${name} is http, and ${url.hostname} is not this machine: anyone on the network could read the secret key. ` +
        'Use https, or set insecure: true on a network that you trust',
    )
  }
  return url
}

/** @param value the given id, by default `KEYRAIL_PROJECT` */
export function readProject(value: unknown): string {
  if (value !== undefined) return readUuid('project', value)
  const given = environment('KEYRAIL_PROJECT')
  if (given === undefined) throw new TypeError('project is not given, and KEYRAIL_PROJECT is not set')
  return readUuid('KEYRAIL_PROJECT', given)
}

export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && uuid.test(value.toLowerCase())

export function readUuid(name: string, value: unknown): string {
  const text = typeof value === 'string' ? value.toLowerCase() : ''
  if (!uuid.test(text)) throw new TypeError(`${name} must be a uuid`)
  return text
}

export function readInteger(name: string, value: unknown, least: number, most: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
    throw new TypeError(`${name} must be an integer from ${least} to ${most}`)
  }
  return value as number
}

export function readBoolean(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new TypeError(`${name} must be true or false`)
  return value
}

export function readFunction<F>(name: string, value: F | undefined): F | undefined {
  if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name} must be a function`)
  return value
}

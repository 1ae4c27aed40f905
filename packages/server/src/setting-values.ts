import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { splitHosts } from './platform/db/failover/host-list.ts'
import { readProxyNetworks, type TrustedProxies } from './platform/network/trusted-proxies.ts'
import type { Setting } from './setting.ts'

type Environment = Readonly<Record<string, string | undefined>>
/** Takes what would be taken in place of a bad value. It never quotes a secret. */
type Fault = (message: string) => void

/** The file with the value of a setting, which `NAME_FILE` names; null: none. */
export function fileOf(name: string, env: Environment): string | null {
  const file = env[`${name}_FILE`]?.trim()
  return file ? resolve(file) : null
}

/**
 * What was written for a setting, in the environment or in the file that `NAME_FILE` names; null: nothing. White space at its ends
 * is no part of it: a file of variables with the line ends of Windows gives each value a carriage return.
 */
export function writtenValue(name: string, env: Environment, fault: Fault): string | null {
  const file = fileOf(name, env)
  if (file === null) return env[name]?.trim() || null
  if (env[name]) fault(`${name} and ${name}_FILE are both set; remove one`)
  try {
    return readFileSync(file, 'utf8').trim() || null
  } catch (error) {
    fault(`${name}_FILE cannot be read (${(error as NodeJS.ErrnoException).code})`)
    return null
  }
}

/** The value of a setting as its kind has it. A bad one is a fault, and returned all the same. */
export function readValue(
  name: string,
  setting: Setting,
  text: string,
  fault: Fault,
): string | number | TrustedProxies {
  if (mustBeWhole(setting, text) && holdsSpace.test(text)) {
    fault(`${name} has white space or a control character inside; in a URL a space is written as %20`)
    return text
  }
  if (text === setting.orWord) return text
  if (setting.kind === 'integer') return readInteger(name, setting, text, fault)
  if (setting.kind === 'proxies') return readProxies(name, setting, text, fault)
  // Absolute, because the listening process may have another working directory.
  if (setting.kind === 'path') return resolve(text)
  if (setting.kind === 'url' && setting.schemes !== undefined)
    return setting.isList ? readUrls(name, setting.schemes, text, fault) : readUrl(name, setting, text, fault)
  if (setting.oneOf !== undefined && !setting.oneOf.includes(text))
    fault(`${name} must be one of ${setting.oneOf.join(', ')}`)
  return text
}

const holdsSpace = /[\s\p{Cc}]/u

/** URLs and names of hosts. A folder of mail may have a space in its name. */
const mustBeWhole = ({ kind, isHost }: Setting, text: string) =>
  (kind === 'url' && !text.startsWith('file:')) || isHost === true

function readInteger(
  name: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER, orWord }: Setting,
  text: string,
  fault: Fault,
) {
  const number = Number(text)
  if (!/^\d{1,16}$/.test(text) || number < min || number > max) {
    const word = orWord === undefined ? '' : `, or ${orWord}`
    fault(`${name} must be a whole number from ${min} to ${max}${word}, not "${text}"`)
  }
  return number
}

/** How many proxies, or the networks of them. */
function readProxies(name: string, setting: Setting, text: string, fault: Fault): TrustedProxies {
  if (/^-?\d+$/.test(text)) return readInteger(name, setting, text, fault)
  const networks = readProxyNetworks(text)
  if (typeof networks !== 'string') return networks
  fault(`${name} must be a number of proxies, or their networks, separated by commas: ${networks}`)
  return 0
}

const isPostgres = /^postgres(?:ql)?:/

/** The certificates and keys that an address of Postgres names and this account cannot read. */
function unreadableFiles(text: string): string[] {
  if (!isPostgres.test(text)) return []
  const { searchParams } = new URL(withHost(text))
  return ['sslrootcert', 'sslcert', 'sslkey'].flatMap(name => {
    const path = searchParams.get(name)
    if (path === null) return []
    try {
      readFileSync(path)
      return []
    } catch (error) {
      return [`${name}=${path}, which cannot be read (${(error as NodeJS.ErrnoException).code})`]
    }
  })
}

/** Postgres' own form for a socket has a login without a host: `postgres://user:password@/database?host=/run/postgresql`. */
const withHost = (text: string) => text.replace('@/', '@localhost/')

const isUrl = (text: string, schemes: readonly string[]) =>
  schemes.some(scheme => text.startsWith(`${scheme}://`)) && URL.canParse(withHost(text))

const beginnings = (schemes: readonly string[]) => schemes.map(scheme => `${scheme}://`).join(' or ')

/** Behind its host an address has no @ and no #. A password that contains /, ? or # makes one end there. */
const endsEarly = /^\w+:\/\/[^/?#]*[/?#].*[@#]/
const encodesNothing = /%(?![0-9a-f]{2})/i
const hostsInQuery = /^postgres(?:ql)?:.*[?&]host=[^&]*(?:,|%2C)/i
const asksForSession = /^postgres(?:ql)?:.*[?&]target_session_attrs=/

/** What makes an address unusable or ambiguous; null: nothing. It quotes no part, which might belong to a password. */
function wrongInAddress(text: string): string | null {
  if (endsEarly.test(text) || encodesNothing.test(text))
    return 'has a character that must be encoded, probably in its password: / as %2F, ? as %3F, # as %23, @ as %40, % as %25'
  if (splitHosts(text)?.hosts.length === 0 || hostsInQuery.test(text))
    return 'must list its hosts as name:port,name:port behind the login, each a name or an address'
  if (asksForSession.test(text))
    return 'must not have target_session_attrs: Keyrail uses no server but a primary, and checks each connection itself'
  return null
}

/** @returns it without a slash at its end. */
function readUrl(name: string, { schemes = [], holdsPassword }: Setting, text: string, fault: Fault): string {
  const wrong = holdsPassword ? wrongInAddress(text) : null
  if (wrong !== null) fault(`${name} ${wrong}`)
  else if (!isUrl(splitHosts(text)?.first ?? text, schemes))
    fault(`${name} must be a URL that begins with ${beginnings(schemes)}`)
  else for (const file of unreadableFiles(splitHosts(text)?.first ?? text)) fault(`${name} names ${file}`)
  return text.replace(/\/+$/, '')
}

/** A comma may also be part of a password: only one before a scheme separates. */
function readUrls(name: string, schemes: readonly string[], text: string, fault: Fault): string {
  const all = text.split(new RegExp(`,(?=(?:${schemes.join('|')})://)`))
  if (!all.every(one => isUrl(one, schemes)))
    fault(`${name} must be one or more URLs that begin with ${beginnings(schemes)}, separated by commas`)
  return text
}

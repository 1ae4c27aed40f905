/** Callers choose their user agent: the text is cut, and never shown to people unchanged. */

/** The most characters that are kept in logs and in the database. */
export const userAgentMax = 200

/**
 * The text of a `User-Agent` header for storage: on one line, without control characters and without anything as long as a
 * credential.
 */
export function keptAgent(header: string | undefined, max = userAgentMax): string | null {
  if (header === undefined) return null
  return header
    .replace(/[\p{Cc}\p{Cf}]/gu, ' ')
    .replace(/[\w-]{32,}/g, '…')
    .slice(0, max)
}

/** A program without version numbers, so that it is the same after an update. */
export const agentFamily = (agent: string | null): string => (agent ?? '').replace(/[\d._]+/g, '')

const browsers: readonly [RegExp, string][] = [
  [/\bEdg[A-Za-z]*\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/.* Safari\//, 'Safari'],
]
const systems: readonly [RegExp, string][] = [
  [/\bWindows\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\b(?:Macintosh|Mac OS X)\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/**
 * Describes a program for a letter, with fixed words and one short token: a stranger must not be able to write to a person
 * through a header, and a mail program turns anything like a host into a link.
 */
export function agentInWords(agent: string | null): string {
  if (agent === null || agent === '') return 'an unknown program'
  const browser = nameIn(browsers, agent)
  const system = nameIn(systems, agent)
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`
  const token = /^([A-Za-z][A-Za-z0-9-]{0,23})\//.exec(agent)?.[1]
  if (token !== undefined && token !== 'Mozilla') return `a program that calls itself ${token}`
  return system === undefined ? 'an unknown program' : `an unknown program on ${system}`
}

const nameIn = (names: readonly [RegExp, string][], agent: string) =>
  names.find(([pattern]) => pattern.test(agent))?.[1]

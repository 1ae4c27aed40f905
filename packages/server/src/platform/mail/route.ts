import { resolve } from 'node:path'

/** Where mail goes: to a mail server, or into a folder that receives one `.eml` file per message. */
export type MailRoute = FolderRoute | SmtpRoute

interface FolderRoute {
  readonly kind: 'folder'
  readonly path: string
}

const upgrades = ['required', 'offered', 'never'] as const
type Upgrade = (typeof upgrades)[number]

export interface SmtpRoute {
  readonly kind: 'smtp'
  readonly host: string
  readonly port: number
  /** TLS from the first byte on: smtps. */
  readonly secure: boolean
  /** Whether a connection that begins without TLS must change to TLS. The certificate is verified in any case. */
  readonly upgrade: Upgrade
  readonly login: { readonly user: string; readonly password: string } | null
  /** The service's name in EHLO and HELO; unset: the name that the library finds. */
  readonly ehloName?: string
}

/** A URL that cannot be used, and why; it never quotes the URL, which may contain a password. */
export class MailRouteRefused extends Error {}

/** @throws {MailRouteRefused} saying what would be accepted. */
export function readMailRoute(text: string): MailRoute {
  if (text.startsWith('file:')) return readFolder(text.slice('file:'.length))
  if (!/^smtps?:\/\//.test(text) || !URL.canParse(text)) {
    throw new MailRouteRefused('must be a URL that begins with smtp://, smtps:// or file:')
  }
  return readSmtp(new URL(text))
}

function readFolder(rest: string): FolderRoute {
  const written = rest.replace(/^\/\/(?=\/)/, '')
  if (written === '' || written.startsWith('//')) {
    throw new MailRouteRefused('must name a folder, as in file:/srv/mail or file:./mail')
  }
  const path = decode(written)
  if (path.includes('\0')) throw new MailRouteRefused('must name a folder without NUL')
  return { kind: 'folder', path: resolve(path) }
}

function readSmtp(url: URL): SmtpRoute {
  const secure = url.protocol === 'smtps:'
  if (url.hostname === '') throw new MailRouteRefused('must name a host')
  if ((url.pathname !== '' && url.pathname !== '/') || url.hash !== '') {
    throw new MailRouteRefused('must have nothing after the host and port but ?tls=')
  }
  if (url.password !== '' && url.username === '')
    throw new MailRouteRefused('has a password without a user name')
  const login = url.username === '' ? null : { user: decode(url.username), password: decode(url.password) }
  return {
    kind: 'smtp',
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    upgrade: readUpgrade(url.searchParams, login !== null),
    login,
  }
}

/** @param hasLogin requires TLS, because an attacker in between could remove the offer of TLS and read the password. */
function readUpgrade(query: URLSearchParams, hasLogin: boolean): Upgrade {
  const [[name, value], ...others] = [...query, ['tls', hasLogin ? 'required' : 'offered']] as const
  const found = upgrades.find(one => one === value)
  if (name !== 'tls' || found === undefined || others.length > 1)
    throw new MailRouteRefused(`accepts only tls=${upgrades.join(', tls=')} after the ?`)
  return found
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new MailRouteRefused('has a % that is not part of a percent-encoding; write it as %25')
  }
}

import { resolve } from 'node:path'

/** Where mail goes: to a mail server, or into a folder that receives one `.eml` a message. */
export type MailRoute = FolderRoute | SmtpRoute

export interface FolderRoute {
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
  /** Whether a conversation that begins without TLS goes on with it. The certificate is checked in any case. */
  readonly upgrade: Upgrade
  readonly login: { readonly user: string; readonly password: string } | null
}

/** A URL that cannot be used, and why; it never quotes the URL, which may hold a password. */
export class MailRouteRefused extends Error {}

/** @throws {MailRouteRefused} saying what would be taken. */
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
    throw new MailRouteRefused('must have nothing behind the host and its port but ?tls=')
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

/** @param hasLogin whoever listens in must not read the password, and may have cut the offer of TLS out of the answer. */
function readUpgrade(query: URLSearchParams, hasLogin: boolean): Upgrade {
  const [[name, value], ...others] = [...query, ['tls', hasLogin ? 'required' : 'offered']] as const
  const found = upgrades.find(one => one === value)
  if (name !== 'tls' || found === undefined || others.length > 1)
    throw new MailRouteRefused(`takes tls=${upgrades.join(', tls=')} behind the ? and nothing else`)
  return found
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new MailRouteRefused('has a % that is not part of a percent-encoding; write %25 for it')
  }
}

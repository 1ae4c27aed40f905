import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defaultSender, type Mailbox, readMailbox } from './address.ts'
import { type MailRoute, MailRouteRefused, readMailRoute } from './route.ts'

/** Where mail goes, and its sender. */
export interface MailSettings {
  readonly route: MailRoute
  readonly from: Mailbox
}

/** The setting as written; null if unset. */
export interface WrittenMailSettings {
  readonly url: string | null
  readonly from: string | null
  readonly ehloName: string | null
  readonly publicUrl: string | null
  readonly dataDir: string
}

/**
 * Reads the settings of mail.
 * @param fault receives the end of the name of a bad setting, and what would be accepted.
 */
export function readMailSettings(
  { url, from, ehloName, publicUrl, dataDir }: WrittenMailSettings,
  fault: (setting: 'URL' | 'FROM' | 'EHLO_NAME', message: string) => void,
): MailSettings {
  const sender = from === null ? null : readMailbox(from)
  if (from !== null && sender === null)
    fault('FROM', 'must be one address, such as Keyrail <no-reply@example.com>')
  const known = publicUrl !== null && URL.canParse(publicUrl) ? publicUrl : 'http://localhost'
  if (ehloName !== null && !greetingName.test(ehloName))
    fault(
      'EHLO_NAME',
      'must be the full name of a machine, such as keys.example.com, or an address in brackets',
    )
  const route = readRoute(url, dataDir, fault)
  return {
    route: route.kind === 'smtp' && ehloName !== null ? { ...route, ehloName } : route,
    from: sender ?? defaultSender(known),
  }
}

/** A domain, or an address as `[192.0.2.1]` or `[IPv6:2001:db8::1]` (RFC 5321). */
const greetingName =
  /^(?=.{1,255}$)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[(?:\d{1,3}(?:\.\d{1,3}){3}|ipv6:[0-9a-f:.]+)\])$/i

function readRoute(
  url: string | null,
  dataDir: string,
  fault: (setting: 'URL', message: string) => void,
): MailRoute {
  const folder = pathToFileURL(join(dataDir, 'mail')).href
  try {
    return readMailRoute(url ?? folder)
  } catch (error) {
    if (!(error instanceof MailRouteRefused)) throw error
    fault('URL', error.message)
    return readMailRoute(folder)
  }
}

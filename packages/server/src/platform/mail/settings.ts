import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defaultSender, type Mailbox, readMailbox } from './address.ts'
import { type MailRoute, MailRouteRefused, readMailRoute } from './route.ts'

/** Where mail goes, and its sender. */
export interface MailSettings {
  readonly route: MailRoute
  readonly from: Mailbox
}

/** As written; null if unset. */
export interface WrittenMailSettings {
  readonly url: string | null
  readonly from: string | null
  readonly publicUrl: string | null
  readonly dataDir: string
}

/**
 * Reads the settings of mail.
 * @param fault receives the name of a bad setting, and what would be accepted.
 */
export function readMailSettings(
  { url, from, publicUrl, dataDir }: WrittenMailSettings,
  fault: (setting: 'url' | 'from', message: string) => void,
): MailSettings {
  const sender = from === null ? null : readMailbox(from)
  if (from !== null && sender === null)
    fault('from', 'must be one address, such as Keyrail <no-reply@example.com>')
  const known = publicUrl !== null && URL.canParse(publicUrl) ? publicUrl : 'http://localhost'
  return { route: readRoute(url, dataDir, fault), from: sender ?? defaultSender(known) }
}

function readRoute(
  url: string | null,
  dataDir: string,
  fault: (setting: 'url', message: string) => void,
): MailRoute {
  const folder = pathToFileURL(join(dataDir, 'mail')).href
  try {
    return readMailRoute(url ?? folder)
  } catch (error) {
    if (!(error instanceof MailRouteRefused)) throw error
    fault('url', error.message)
    return readMailRoute(folder)
  }
}

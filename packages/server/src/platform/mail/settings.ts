import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defaultSender, type Mailbox, readMailbox } from './address.ts'
import { type MailRoute, MailRouteRefused, readMailRoute } from './route.ts'

/** How mail goes, and whom it comes from. */
export interface MailSettings {
  readonly route: MailRoute
  readonly from: Mailbox
}

/** As they were written; null where nothing was. */
export interface WrittenMailSettings {
  readonly url: string | null
  readonly from: string | null
  readonly publicUrl: string | null
  readonly dataDir: string
}

/**
 * Reads the settings of mail.
 * @param fault is told, after the name of the setting, what would be taken in place of a bad value.
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

import { createTransport } from 'nodemailer'
import { composeMessage } from './message.ts'
import type { SmtpRoute } from './route.ts'
import { NotSent, type Transport } from './transport.ts'

/** A step of the conversation that hangs is given up after so long. Milliseconds. */
export const timeouts = { dns: 10_000, connection: 10_000, greeting: 10_000, socket: 20_000 }

/** A mail server. One connection a message: mail is rare. */
export function openSmtp({ host, port, secure, upgrade, login }: SmtpRoute): Transport {
  const mailer = createTransport({
    host,
    port,
    secure,
    requireTLS: upgrade === 'required' && !secure,
    ignoreTLS: upgrade === 'never',
    ...(login !== null && { auth: { user: login.user, pass: login.password } }),
    // A login that the server does not ask for is a fault of the settings, not a reason to go without.
    forceAuth: login !== null,
    dnsTimeout: timeouts.dns,
    connectionTimeout: timeouts.connection,
    greetingTimeout: timeouts.greeting,
    socketTimeout: timeouts.socket,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    async send(letter, _kind, postmark, signal) {
      const message = composeMessage(letter, postmark, false)
      await mailer.sendMail({ ...message, signal }).catch(error => Promise.reject(notSent(error)))
    },
    async verify() {
      await mailer.verify().catch(error => Promise.reject(notSent(error)))
    },
  }
}

/** What the library tells of a failure. */
interface Failure {
  readonly code?: string
  readonly command?: string
  readonly responseCode?: number
}

/** That there is no such mailbox is all that a later try cannot mend: accounts, limits and certificates are mended. */
function notSent({ code, command, responseCode }: Failure): NotSent {
  const parts = [code ?? 'unknown', command, responseCode].filter(part => part !== undefined)
  const isFinal = command === 'RCPT TO' && responseCode !== undefined && responseCode >= 500
  return new NotSent(parts.join(' '), isFinal)
}

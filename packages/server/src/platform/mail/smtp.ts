import { createTransport } from 'nodemailer'
import { composeMessage } from './message.ts'
import type { SmtpRoute } from './route.ts'
import { NotSent, type Transport } from './transport.ts'

/** Each step of a connection is given up after this time. Milliseconds. */
export const timeouts = { dns: 10_000, connection: 10_000, greeting: 10_000, socket: 20_000 }

/** A mail server. One connection per message: mail is rare. */
export function openSmtp({ host, port, secure, upgrade, login }: SmtpRoute): Transport {
  const mailer = createTransport({
    host,
    port,
    secure,
    requireTLS: upgrade === 'required' && !secure,
    ignoreTLS: upgrade === 'never',
    ...(login !== null && { auth: { user: login.user, pass: login.password } }),
    // A login that the server does not ask for is an error in the settings, so mail is not sent without it.
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

/** The library's error. */
interface Failure {
  readonly code?: string
  readonly command?: string
  readonly responseCode?: number
}

/**
 * Only "no such mailbox" is permanent. Everything else is retried, because accounts, limits and certificates get
 * fixed.
 */
function notSent({ code, command, responseCode }: Failure): NotSent {
  const parts = [code ?? 'unknown', command, responseCode].filter(part => part !== undefined)
  const isFinal = command === 'RCPT TO' && responseCode !== undefined && responseCode >= 500
  return new NotSent(parts.join(' '), isFinal)
}

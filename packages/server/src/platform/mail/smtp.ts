import { createTransport } from 'nodemailer'
import { composeMessage } from './message.ts'
import type { SmtpRoute } from './route.ts'
import { NotSent, type Transport } from './transport.ts'

/** The time limit of each step of a connection. Milliseconds. */
export const timeouts = { dns: 10_000, connection: 10_000, greeting: 10_000, socket: 20_000 }

/** Sends by a mail server. Each message has its own connection: mail is rare. */
export function openSmtp({ host, port, secure, upgrade, login, ehloName }: SmtpRoute): Transport {
  const mailer = createTransport({
    host,
    port,
    secure,
    ...(ehloName !== undefined && { name: ehloName }),
    requireTLS: upgrade === 'required' && !secure,
    ignoreTLS: upgrade === 'never',
    ...(login !== null && { auth: { user: login.user, pass: login.password } }),
    // If the server does not ask for the login that is set, the settings are wrong, and mail is not sent without the login.
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
  readonly response?: string
}

/** Only "no such mailbox" is permanent. Every other error is retried, because accounts, limits and certificates get fixed. */
function notSent({ code, command, responseCode, response = '' }: Failure): NotSent {
  const detail = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1]
  const parts = [code ?? 'unknown', command, responseCode, detail].filter(part => part !== undefined)
  const refused = responseCode === undefined ? null : refusedPartOf(command, responseCode, detail)
  return new NotSent(parts.join(' '), refused === 'mailbox', refused === 'sender')
}

/** Classes of RFC 3463 that say something about the recipient: 5.1 is an address, 5.2 a mailbox, 5.4.310 a domain without DNS. */
const ofMailbox = /^5\.(?:1\.(?:0|1|2|3|6|10)|2\.\d+|4\.310)$/
/** Answers that mean a missing mailbox if no class says otherwise: does not exist, has moved. */
const mailboxCodes = new Set([550, 551])

/**
 * Codes of a permanent refusal. A relay that does not take mail from this service, its sender or its greeting often says so
 * only after the recipient (Postfix by default), with the codes 504, 530, 550, 553 and 554, although the mailbox exists.
 */
function refusedPartOf(
  command: string | undefined,
  code: number,
  detail: string | undefined,
): 'mailbox' | 'sender' | null {
  if (code < 500) return null
  if (command === 'EHLO' || command === 'HELO' || command === 'MAIL FROM') return 'sender'
  if (command !== 'RCPT TO') return null
  const isMailbox = detail === undefined ? mailboxCodes.has(code) : ofMailbox.test(detail)
  return isMailbox ? 'mailbox' : 'sender'
}

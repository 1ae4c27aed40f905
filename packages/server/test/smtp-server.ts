import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { type ParsedMail, simpleParser } from 'mailparser'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A message as a mail server received it. */
interface Received {
  /** The envelope, which decides where the message goes, whatever its headers say. */
  readonly from: string
  readonly to: readonly string[]
  readonly source: string
  readonly parsed: ParsedMail
  readonly user: string | null
  /** The name by which the client greeted it. */
  readonly greeting: string
  /** Whether it came over TLS. */
  readonly secure: boolean
}

/** A real mail server on a loopback port. It stops when the test file ends. */
export interface MailServer {
  readonly port: number
  readonly received: Received[]
  /** Waits until so many have arrived. */
  untilReceived(count: number): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
}

/** The server's responses, instead of accepting a message. */
export interface Answers {
  mailFrom?: number
  recipient?: number
  /** What follows the code of `recipient`, such as a class of RFC 3463. */
  recipientText?: string
  data?: number
  /** Runs after the message has arrived and before the server confirms it. */
  beforeReply?: () => Promise<void>
}

/**
 * @param options the library's; without any, a server that accepts everything and offers no TLS.
 * @param answers read for each message, so that a test may change them.
 */
export async function startMailServer(
  options: SMTPServerOptions = {},
  answers: Answers = {},
): Promise<MailServer> {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  const refuse = (code: number | undefined, text = 'no, quoting <someone@example.com>') =>
    code === undefined ? null : Object.assign(new Error(text), { responseCode: code })
  const make = () =>
    new SMTPServer({
      authOptional: true,
      disabledCommands: options.secure || options.key ? [] : ['STARTTLS'],
      disableReverseLookup: true,
      ...options,
      onMailFrom: (_address, _session, done) => done(refuse(answers.mailFrom)),
      onRcptTo: (_address, _session, done) => done(refuse(answers.recipient, answers.recipientText)),
      onData(stream, session, done) {
        const pieces: Buffer[] = []
        stream.on('data', piece => pieces.push(piece))
        stream.on('end', async () => {
          const refusal = refuse(answers.data)
          if (refusal !== null) return done(refusal)
          const source = Buffer.concat(pieces)
          const { mailFrom, rcptTo } = session.envelope
          received.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            source: source.toString(),
            parsed: await simpleParser(source),
            user: typeof session.user === 'string' ? session.user : null,
            secure: session.secure,
            greeting: session.hostNameAppearsAs,
          })
          for (const wake of waiting) wake()
          await answers.beforeReply?.()
          done()
        })
      },
    })
  let server = make()
  const listen = async (port: number) => {
    server = make()
    server.on('error', () => {})
    server.listen(port, '127.0.0.1')
    await once(server.server, 'listening')
    return (server.server.address() as AddressInfo).port
  }
  const stop = () => new Promise<void>(resolve => server.close(resolve))
  const port = await listen(0)
  after(stop)
  return {
    port,
    received,
    async untilReceived(count) {
      while (received.length < count) {
        const { promise, resolve } = Promise.withResolvers<void>()
        waiting.add(resolve)
        await promise
        waiting.delete(resolve)
      }
    },
    stop,
    start: async () => void (await listen(port)),
  }
}

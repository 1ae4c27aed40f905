import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/log.ts'
import { rootSpan } from '../observe/tracing.ts'
import { isSendable, type Mailbox } from './address.ts'
import type { Letter } from './letter.ts'
import { NotSent, type Transport } from './transport.ts'

/**
 * Writes a letter of one kind: reads its data, draws its token if it has one, stores the token's hash, and returns the letter,
 * or null if its recipient no longer exists. It runs again for each attempt, in a separate transaction.
 */
export type WriteLetter = (ids: Readonly<Record<string, string>>) => Promise<Letter | null>

/** The outcome of an attempt: `failed` and `sender_refused` are tried again, `given_up` is not. */
export const outcomes = ['sent', 'failed', 'sender_refused', 'given_up'] as const
type Outcome = (typeof outcomes)[number]
export type CountMail = (kind: string, outcome: Outcome) => void

export interface Job {
  readonly kind: string
  readonly ids: Readonly<Record<string, string | null>>
  readonly attempt: number
  readonly attemptsMax: number
}

export interface Delivery {
  readonly letters: Readonly<Record<string, WriteLetter>>
  readonly transport: Transport
  readonly from: Mailbox
  readonly clock: Clock
  readonly randomBytes: (size: number) => Buffer
  readonly log: Logger
  readonly count: CountMail
}

/** An attempt fails after this time, whatever it waits for. Milliseconds. */
export const attemptMs = 60_000

/**
 * Writes and sends one letter.
 * @throws {NotSent} if the letter is to be tried again; the stored error has neither an address nor a token.
 */
export const deliver = (delivery: Delivery, job: Job, closing: AbortSignal): Promise<void> =>
  rootSpan(`mail ${job.kind}`, { 'keyrail.mail.attempt': job.attempt }, () =>
    attemptMail(delivery, job, closing),
  )

async function attemptMail(delivery: Delivery, job: Job, closing: AbortSignal): Promise<void> {
  const { log, count } = delivery
  const { kind, attempt } = job
  const ids = readIds(job)
  if (ids === null) return
  try {
    const isSent = await writeAndSend(
      delivery,
      kind,
      ids,
      AbortSignal.any([closing, AbortSignal.timeout(attemptMs)]),
    )
    if (!isSent) return
    count(kind, 'sent')
    log.info({ kind, attempt }, 'mail sent')
  } catch (error) {
    const isOver = attempt >= job.attemptsMax || (error instanceof NotSent && error.isFinal)
    const isSenderRefused = error instanceof NotSent && error.isSenderRefused
    count(kind, isOver ? 'given_up' : isSenderRefused ? 'sender_refused' : 'failed')
    // Logs only the codes of a transport's error; any other error is a fault of the service or its database.
    const reason = error instanceof NotSent ? { code: error.code } : { err: error }
    const about = { kind, attempt, ...reason, ...(isSenderRefused && { refused: 'sender' }) }
    log[isSenderRefused ? 'error' : 'warn'](about, isOver ? 'mail given up' : 'mail not sent')
    if (error instanceof NotSent && error.isFinal) return
    throw error instanceof NotSent ? error : new NotSent('not written', false)
  }
}

/** Null: the recipient does not exist. */
function readIds({ ids }: Job): Record<string, string> | null {
  const known = Object.entries(ids).filter((pair): pair is [string, string] => pair[1] !== null)
  return known.length === Object.keys(ids).length ? Object.fromEntries(known) : null
}

/** @returns false if there was nothing to send. */
async function writeAndSend(
  { letters, transport, from, clock, randomBytes }: Delivery,
  kind: string,
  ids: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<boolean> {
  // A newer release that runs beside this one may have queued a kind that only it can write.
  const write = Object.hasOwn(letters, kind) ? letters[kind] : undefined
  if (write === undefined) throw new NotSent('unknown kind', false)
  const letter = await write(ids)
  if (letter === null) return false
  if (!isSendable(letter.to)) throw new NotSent('unusable address', true)
  const postmark = { from, at: new Date(clock.now()), id: randomBytes(16).toString('hex') }
  await transport.send(letter, kind, postmark, signal)
  return true
}

import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import { isSendable, type Mailbox } from './address.ts'
import type { Letter } from './letter.ts'
import { NotSent, type Transport } from './transport.ts'

/**
 * Writes a letter of one kind: reads what it is about, draws the token if it has one, stores its hash, and gives back
 * the letter, or null when there is nobody to write to any more. It runs anew at every attempt, in a transaction of its own.
 */
export type WriteLetter = (ids: Readonly<Record<string, string>>) => Promise<Letter | null>

/** What became of an attempt: `failed` is tried again, `given_up` is not. */
export const outcomes = ['sent', 'failed', 'given_up'] as const
export type Outcome = (typeof outcomes)[number]
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

/** Beyond it an attempt has failed, however it hangs. Milliseconds. */
export const attemptMs = 60_000

/**
 * Writes and sends one letter.
 * @throws {NotSent} when it is to be tried again; what is kept of the error has neither an address nor a token.
 */
export async function deliver(delivery: Delivery, job: Job, closing: AbortSignal): Promise<void> {
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
    count(kind, isOver ? 'given_up' : 'failed')
    // Of what a transport says its codes; what else fails is a fault of ours, or the store's.
    const reason = error instanceof NotSent ? { code: error.code } : { err: error }
    log.warn({ kind, attempt, ...reason }, isOver ? 'mail given up' : 'mail not sent')
    if (error instanceof NotSent && error.isFinal) return
    throw error instanceof NotSent ? error : new NotSent('not written', false)
  }
}

/** Null: somebody who is not there was to be written to. */
function readIds({ ids }: Job): Record<string, string> | null {
  const known = Object.entries(ids).filter((pair): pair is [string, string] => pair[1] !== null)
  return known.length === Object.keys(ids).length ? Object.fromEntries(known) : null
}

/** @returns false when there was nothing to be written. */
async function writeAndSend(
  { letters, transport, from, clock, randomBytes }: Delivery,
  kind: string,
  ids: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<boolean> {
  // A newer release, which runs beside this one, may have queued what only it can write.
  const write = Object.hasOwn(letters, kind) ? letters[kind] : undefined
  if (write === undefined) throw new NotSent('unknown kind', false)
  const letter = await write(ids)
  if (letter === null) return false
  if (!isSendable(letter.to)) throw new NotSent('unusable address', true)
  const postmark = { from, at: new Date(clock.now()), id: randomBytes(16).toString('hex') }
  await transport.send(letter, kind, postmark, signal)
  return true
}

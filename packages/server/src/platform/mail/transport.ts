import type { Letter } from './letter.ts'
import type { Postmark } from './message.ts'

/** Sends letters out of the service. */
export interface Transport {
  /**
   * @param kind the kind of letter, for the name of its file.
   * @throws {NotSent} saying whether another attempt can succeed.
   */
  send(letter: Letter, kind: string, postmark: Postmark, signal: AbortSignal): Promise<void>
  /**
   * Checks whether the transport could send, and sends nothing.
   * @throws the obstacle.
   */
  verify(): Promise<void>
}

/** The beginning of the error of a job whose sender was refused. */
export const senderRefused = 'sender refused'

/** Why a letter was not sent. The error only contains codes, because a server's words may quote the address. */
export class NotSent extends Error {
  override name = 'NotSent'
  readonly code: string
  readonly isFinal: boolean
  /** The mail server takes no mail from this service: an operator must change a setting, of the service or of the server. */
  readonly isSenderRefused: boolean
  constructor(code: string, isFinal: boolean, isSenderRefused = false) {
    super(`${isSenderRefused ? senderRefused : 'not sent'}: ${code}`)
    this.code = code
    this.isFinal = isFinal
    this.isSenderRefused = isSenderRefused
  }
}

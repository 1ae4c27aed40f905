import type { Letter } from './letter.ts'
import type { Postmark } from './message.ts'

/** What carries a letter out of the house. */
export interface Transport {
  /**
   * @param kind what the letter is, for the name of its file.
   * @throws {NotSent} telling whether there is a point in another try.
   */
  send(letter: Letter, kind: string, postmark: Postmark, signal: AbortSignal): Promise<void>
  /**
   * Looks whether it could send, and sends nothing.
   * @throws what stands in the way.
   */
  verify(): Promise<void>
}

/** Why a letter did not go. It carries codes alone: what a server says may quote the address. */
export class NotSent extends Error {
  override name = 'NotSent'
  readonly code: string
  readonly isFinal: boolean
  constructor(code: string, isFinal: boolean) {
    super(`not sent: ${code}`)
    this.code = code
    this.isFinal = isFinal
  }
}

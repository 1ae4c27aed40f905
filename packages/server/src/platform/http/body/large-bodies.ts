import type { IncomingMessage, ServerResponse } from 'node:http'
import { partOf } from '../../concurrency/part-of.ts'
import { ClientGone, NoCapacity, Refusal, tooManyInFlight } from '../../refusal.ts'

/** Bytes of bodies and responses at once, over all requests of the process. The process uses several times as much memory. */
export const largeBytesMax = 64 * 1_048_576
/** Bytes of bodies that have a signature instead of a credential. */
export const signedBytesMax = 16 * 1_048_576
/** Extra memory for bodies and responses of at most 1 MiB, so that a few large ones do not block them. */
export const mediumBytesMax = 16 * 1_048_576
const mediumMax = 1_048_576
/** The least of several processes: a body of 8 MiB and its answer, a report of 5 MiB, and some of at most 1 MiB. */
const leastBytesMax = 16 * 1_048_576
const leastSignedBytesMax = 8 * 1_048_576
const leastMediumBytesMax = 2 * 1_048_576
/** Smaller bodies reserve nothing: the 20,000 calls that may wait for a lane have at most 80 MiB of them. */
export const smallBytesMax = 4_096

/** Large bodies and responses reserve memory before their bytes exist, and release it when their request ends. */
export interface LargeBodies {
  /**
   * Names the owner of a request's body and response, and the caller of that owner. An owner gets at most half of the memory, a
   * caller half of its owner's share; each always gets one body or response.
   */
  ownedBy(response: ServerResponse, owner: string, caller?: string): void
  /**
   * Reserves the bytes of a response, unless the response is small. A later response to the same request reserves only the
   * difference to the first.
   * @throws {Refusal} `unavailable` if other owners have reserved the memory, `too_many_in_flight` if the owner has.
   */
  holdAnswer(response: ServerResponse, bytes: number): void
  /**
   * Reserves the bytes of a response that is about to be sent, unless it is small. Bytes that are sent to many callers at once
   * exist once and count once.
   * @param mayRefuse false if the operation is done already and only its response would be lost.
   * @throws {Refusal} `unavailable` if other owners have reserved the memory, `too_many_in_flight` if the owner has.
   */
  holdSent(response: ServerResponse, payload: string | Buffer, mayRefuse: boolean): void
  /**
   * Reserves the bytes of a request's body as they arrive, whatever its announced length, so that a sender that sends nothing
   * blocks no other sender. A small body reserves nothing.
   * @returns a function that reserves so many bytes in total, before they are kept, and throws as this one; null for a small
   * body.
   * @throws {Refusal} as `holdAnswer`, at once if there is no memory for the body now.
   */
  holdBody(
    request: IncomingMessage,
    response: ServerResponse,
    bytesMax: number,
  ): ((arrived: number) => void) | null
  /** The bytes that are reserved now. */
  held(): number
}

/** An owner, then one of its callers. */
type Names = readonly string[]

/** Whose reserved bytes leave no memory: those of the same owner, or of all owners. */
type Obstacle = 'owner' | 'others'

/** Sets the total bytes of one request. Without `mayRefuse` the total may exceed the memory. */
type Share = (bytes: number, mayRefuse?: boolean) => void

export const createLargeBodies = (
  bytesMax: number = largeBytesMax,
  mediumBytes: number = mediumBytesMax,
): LargeBodies => new ReservedBytes(bytesMax, mediumBytes)

/** The memory that each of several processes has for large bodies. */
export const largeBoundsOf = (processes: number) => ({
  bytesMax: Math.max(leastBytesMax, partOf(largeBytesMax, processes)),
  signedMax: Math.max(leastSignedBytesMax, partOf(signedBytesMax, processes)),
  mediumMax: Math.max(leastMediumBytesMax, partOf(mediumBytesMax, processes)),
})

class ReservedBytes implements LargeBodies {
  readonly #bytesMax: number
  readonly #mediumBytesMax: number
  #held = 0
  readonly #owners = new WeakMap<ServerResponse, Names>()
  readonly #heldBy = new Map<string, number>()
  readonly #answers = new WeakMap<ServerResponse, Share>()
  /** Payloads that are being sent, and the number of their receivers. */
  readonly #sent = new Map<Buffer, number>()

  constructor(bytesMax: number, mediumBytes: number) {
    this.#bytesMax = bytesMax
    this.#mediumBytesMax = mediumBytes
  }

  ownedBy(response: ServerResponse, owner: string, caller?: string): void {
    this.#owners.set(response, caller === undefined ? [owner] : [owner, `${owner} ${caller}`])
  }

  holdAnswer(response: ServerResponse, bytes: number): void {
    if (bytes > smallBytesMax) this.#shareOf(response)(bytes)
  }

  holdSent(response: ServerResponse, payload: string | Buffer, mayRefuse: boolean): void {
    if (payload.length <= smallBytesMax || isGone(response)) return
    if (Buffer.isBuffer(payload)) this.#holdBuffer(response, payload, mayRefuse)
    else this.#shareOf(response)(payload.length, mayRefuse)
  }

  holdBody(
    request: IncomingMessage,
    response: ServerResponse,
    most: number,
  ): ((arrived: number) => void) | null {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    if (length === undefined && encoding === undefined) return null
    const announced = Number(length ?? 0)
    // A body that announces too much is refused and not read.
    if (announced > most || (length !== undefined && announced <= smallBytesMax)) return null
    // The announced length reserves nothing, since the body may never come. But a body for which there is no memory is refused
    // at once.
    refuseWithout(this.#keptBy(this.#ownerOf(response), announced))
    const share = this.#openShare(response)
    return arrived => {
      try {
        share(arrived)
      } catch (error) {
        throw error instanceof Refusal ? withHeaders(error, stayingOpen(response)) : error
      }
    }
  }

  held(): number {
    return this.#held
  }

  #ownerOf(response: ServerResponse): Names {
    return this.#owners.get(response) ?? []
  }

  #take(owner: Names, bytes: number): void {
    this.#held += bytes
    for (const name of owner) {
      const own = (this.#heldBy.get(name) ?? 0) + bytes
      if (own === 0) this.#heldBy.delete(name)
      else this.#heldBy.set(name, own)
    }
  }

  #mostFor(bytes: number): number {
    return bytes > mediumMax ? this.#bytesMax : this.#bytesMax + this.#mediumBytesMax
  }

  /**
   * @param had the bytes that the request has reserved already, which the new total includes.
   * @returns whose bytes leave no memory for the request; null: there is memory.
   */
  #keptBy(owner: Names, bytes: number, had = 0): Obstacle | null {
    const isOwn = owner.some((name, level) => {
      const others = (this.#heldBy.get(name) ?? 0) - had
      return others > 0 && others + bytes > this.#bytesMax / 2 ** (level + 1)
    })
    if (isOwn) return 'owner'
    return this.#held - had + bytes > this.#mostFor(bytes) ? 'others' : null
  }

  #openShare(response: ServerResponse): Share {
    let own = 0
    const owner = this.#ownerOf(response)
    return (bytes, mayRefuse = true) => {
      if (bytes <= Math.max(own, smallBytesMax)) return
      // A response that is already gone never closes, and would keep its share.
      if (isGone(response)) throw new ClientGone()
      if (mayRefuse) refuseWithout(this.#keptBy(owner, bytes, own))
      // The response closes after its last byte, and when the caller hangs up.
      if (own === 0) response.once('close', () => this.#take(owner, -own))
      this.#take(owner, bytes - own)
      own = bytes
    }
  }

  #shareOf(response: ServerResponse): Share {
    const share = this.#answers.get(response) ?? this.#openShare(response)
    this.#answers.set(response, share)
    return share
  }

  #holdBuffer(response: ServerResponse, bytes: Buffer, mayRefuse: boolean): void {
    // All receivers belong to one workspace, so the first one can be the owner.
    const owner = this.#ownerOf(response)
    const holders = this.#sent.get(bytes) ?? 0
    if (holders === 0) {
      if (mayRefuse) refuseWithout(this.#keptBy(owner, bytes.length))
      this.#take(owner, bytes.length)
    }
    this.#sent.set(bytes, holders + 1)
    response.once('close', () => {
      const left = (this.#sent.get(bytes) ?? 1) - 1
      if (left > 0) return void this.#sent.set(bytes, left)
      this.#sent.delete(bytes)
      this.#take(owner, -bytes.length)
    })
  }
}

/**
 * If the service stops reading, the connection closes, and the reset overtakes the response while the caller still sends. So
 * the rest of the body is read and discarded.
 */
const stayingOpen = (response: ServerResponse): Record<string, string> =>
  response.shouldKeepAlive && !response.hasHeader('connection') ? { connection: 'keep-alive' } : {}

const isGone = ({ destroyed, closed }: ServerResponse) => destroyed || closed

/** @throws {Refusal} if there is an obstacle: 429 for an owner whose share is full, 503 for a full process. */
function refuseWithout(obstacle: Obstacle | null): void {
  if (obstacle === 'owner')
    throw tooManyInFlight('Your large bodies and answers use up your share of the memory.')
  if (obstacle === 'others') throw new NoCapacity({ 'retry-after': '1' })
}

function withHeaders(refusal: Refusal, more: Record<string, string>): Refusal {
  if (refusal instanceof ClientGone) return refusal
  const { code, detail } = refusal
  const headers = { ...refusal.headers, ...more }
  return refusal instanceof NoCapacity ? new NoCapacity(headers) : new Refusal(code, detail, { headers })
}

import { availableParallelism } from 'node:os'
import type { Piscina } from 'piscina'
import { FairQueue } from '../concurrency/fair-queue.ts'
import { partOf } from '../concurrency/part-of.ts'
import { openThreadPool } from '../concurrency/thread-pool.ts'
import { networkOf, siteOf } from '../network/client-network.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { Refusal, tooManyInFlight } from '../refusal.ts'

/** Callers of one standing that may wait for a thread: at 10 ms per hash and core, two cores need half a second for them. */
export const waitingMax = 100

/**
 * Starting a thread takes 60 ms, and a thread uses about 30 MiB with a hash. A thread is kept this long for the next caller, in
 * ms.
 */
const idleMs = 30_000

const retryAfter = { 'retry-after': '1' }

const saltBytes = 16

/**
 * Stands in for the hash of an account that does not exist: the parameters of a real hash that no known password
 * matches. Its second half is random bytes and not the hash of anything.
 */
const standInHash =
  '$argon2id$v=19$m=19456,t=2,p=1$a2V5cmFpbCBub2JvZHkuLg$3j3z1aEPLiyDOP8zsvIIvPkA4vqZo803Peas69uaRlA'

/** A caller that waits for a thread. Within a standing, sites take turns, and within a site its networks. */
export interface HashCaller {
  readonly ip: string
  /**
   * What the caller has proved: nothing; a device that has signed in to the account, or a mailed token of it; a session. The
   * standings take turns, so callers that have proved something do not wait behind strangers, however many strangers there are.
   * Devices and persons take no turns, because one person can have any number of them.
   */
  readonly standing: 'stranger' | 'known' | 'signed in'
}

/** Hashes passwords, one per core at a time, in threads with a lower priority than threads that serve requests. */
export interface Passwords {
  /**
   * Returns a PHC string: argon2id, with its parameters and salt. The password is hashed as given, as its UTF-8 bytes.
   * @throws {Refusal} `too_many_in_flight` if too many callers wait already, most of them of this caller's network.
   */
  hash(password: string, caller: HashCaller): Promise<string>
  /**
   * @param phc null if the account does not exist: the answer is then false, and costs exactly one call of the hasher too.
   * @throws {Refusal} `too_many_in_flight` if too many callers wait already, most of them of this caller's network.
   */
  verify(phc: string | null, password: string, caller: HashCaller): Promise<boolean>
  /** The number of callers that wait for a thread. */
  waiting(): number
  close(): Promise<void>
}

export interface PasswordOptions {
  readonly randomBytes: (size: number) => Buffer
  readonly log: Pick<Logger, 'error' | 'warn'>
  readonly metrics: Pick<Metrics, 'passwordHashed'>
  /** The most threads; by default one per core, of which each of several processes has its part. */
  readonly threads?: number
  /** How many processes share the machine; unset: one. */
  readonly processes?: number
}

export function openPasswords(options: PasswordOptions): Passwords {
  const { randomBytes, log, metrics, processes = 1 } = options
  const { threads = partOf(availableParallelism(), processes) } = options
  const line = new FairQueue({
    places: threads,
    placesOfOne: threads,
    waitingOfOne: partOf(waitingMax, processes),
  })
  let hasToldOfMalformed = false
  let hasToldOfPriority = false

  /** Warns once, because a system that refuses one thread refuses all. */
  const warnOfRefusal = (refusal: string | null) => {
    if (refusal === null || hasToldOfPriority) return
    hasToldOfPriority = true
    log.warn(
      { refusal },
      'the threads that hash passwords, verify chains and read large bodies have the priority of requests, because the system refuses a lower one',
    )
  }
  const open = async () => {
    const pool = await openThreads(threads)
    // Runs before the first password, which waits for a thread anyway, so that the warning is logged before the answer.
    await pool.run(null, { name: 'priorityRefusal' }).then(warnOfRefusal, () => {})
    return pool
  }
  const pool = openThreadPool(open, err => log.error({ err }, 'a password hashing thread failed'))
  const call = async <T>(name: 'hash' | 'verify', task: object, { ip, standing }: HashCaller): Promise<T> => {
    const turn = line.take(standing, { path: [siteOf(ip), networkOf(ip)] })
    // Its network has the most waiting callers, and this caller is the newest of them.
    if (turn === null) throw tooManyInFlight()
    try {
      await turn.come
      const opened = await pool.threads()
      metrics.passwordHashed()
      return await opened.run(task, { name })
    } catch (cause) {
      if (cause instanceof Refusal) throw cause
      throw new Refusal('unavailable', '', { cause, headers: retryAfter })
    } finally {
      turn.end()
    }
  }

  return {
    hash: (password, caller) => call<string>('hash', { password, salt: randomBytes(saltBytes) }, caller),
    async verify(phc, password, caller) {
      const isRight = await call<boolean | null>('verify', { phc: phc ?? standInHash, password }, caller)
      if (isRight === null && !hasToldOfMalformed) {
        hasToldOfMalformed = true
        log.error('a stored password hash is malformed; its owner cannot sign in before a reset')
      }
      return phc !== null && isRight === true
    },
    waiting: () => line.depth().waiting,
    close: pool.close,
  }
}

/** Loads the library and starts a thread when the first password arrives. */
async function openThreads(threads: number): Promise<Piscina> {
  const { Piscina } = await import('piscina')
  return new Piscina({
    filename: new URL('./password-worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleMs,
    recordTiming: false,
    // Waking a thread through shared memory only pays for tasks of microseconds; without it a sign-in takes a
    // quarter less of the caller's thread, 0.57 ms instead of 0.76.
    atomics: 'disabled',
  })
}

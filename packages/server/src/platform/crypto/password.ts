import { availableParallelism } from 'node:os'
import type { Piscina } from 'piscina'
import { FairQueue } from '../fair-queue.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { Refusal } from '../refusal.ts'

/**
 * Callers that may wait for a thread: at 10 ms a hash and a core, half a second of two cores. Beyond them only one more of
 * each name that has none there.
 */
export const waitingMax = 100

/** A thread takes 60 ms to start and about 30 MiB with a hash; it is kept for those who come back soon, in ms. */
const idleMs = 30_000

const retryAfter = { 'retry-after': '1' }

const saltBytes = 16

/**
 * What a password of nobody is compared with: the parameters of a real hash, of which no password is known. Its last
 * half are drawn bytes and not the hash of anything.
 */
const nobody =
  '$argon2id$v=19$m=19456,t=2,p=1$a2V5cmFpbCBub2JvZHkuLg$3j3z1aEPLiyDOP8zsvIIvPkA4vqZo803Peas69uaRlA'

/**
 * Hashes passwords, one a core at a time, in threads that stand back for those who answer requests. The names in which
 * callers come, a network or a person, take turns.
 */
export interface Passwords {
  /**
   * A PHC string: argon2id, with its parameters and its salt. The password is taken as given, byte by byte of UTF-8.
   * @throws {Refusal} `unavailable` when too many wait already.
   */
  hash(password: string, inNameOf: string): Promise<string>
  /**
   * @param phc null where there is no account. It costs exactly one call of the hasher as well, and is never true.
   * @throws {Refusal} `unavailable` when too many wait already.
   */
  verify(phc: string | null, password: string, inNameOf: string): Promise<boolean>
  /** Callers that wait for a thread. */
  waiting(): number
  close(): Promise<void>
}

export interface PasswordOptions {
  readonly randomBytes: (size: number) => Buffer
  readonly log: Pick<Logger, 'error'>
  readonly metrics: Pick<Metrics, 'passwordHashed'>
  /** Threads at most; as many as there are cores when left out. */
  readonly threads?: number
}

export function openPasswords(options: PasswordOptions): Passwords {
  const { randomBytes, log, metrics, threads = availableParallelism() } = options
  let opened: Promise<Piscina> | null = null
  const line = new FairQueue({
    places: threads,
    placesOfOne: threads,
    waitingOfOne: waitingMax,
    waitingOfAll: waitingMax,
  })
  let hasToldOfMalformed = false

  const open = () => {
    const opening = openThreads(threads).then(pool => {
      // A thread that ends before its first call leaves those who wait for it waiting, unless the pool ends with it.
      pool.on('error', err => {
        log.error({ err }, 'a thread that hashes passwords has failed')
        if (opened === opening) opened = null
        void pool.destroy()
      })
      return pool
    })
    return opening
  }
  const call = async <T>(name: 'hash' | 'verify', task: object, inNameOf: string): Promise<T> => {
    const turn = line.take(inNameOf)
    if (turn === null) throw new Refusal('unavailable', '', { headers: retryAfter })
    try {
      await turn.come
      opened ??= open()
      const pool = await opened
      metrics.passwordHashed()
      return await pool.run(task, { name })
    } catch (cause) {
      throw new Refusal('unavailable', '', { cause, headers: retryAfter })
    } finally {
      turn.end()
    }
  }

  return {
    hash: (password, inNameOf) => call<string>('hash', { password, salt: randomBytes(saltBytes) }, inNameOf),
    async verify(phc, password, inNameOf) {
      const isRight = await call<boolean | null>('verify', { phc: phc ?? nobody, password }, inNameOf)
      if (isRight === null && !hasToldOfMalformed) {
        hasToldOfMalformed = true
        log.error('a stored password hash is malformed; who it belongs to cannot sign in and may reset it')
      }
      return phc !== null && isRight === true
    },
    waiting: () => line.depth().waiting,
    async close() {
      await (await opened)?.destroy()
    },
  }
}

/** The library is read, and a thread started, when the first password comes. */
async function openThreads(threads: number): Promise<Piscina> {
  const { Piscina } = await import('piscina')
  return new Piscina({
    filename: new URL('./password-worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleMs,
    recordTiming: false,
    // To be woken by shared memory pays for tasks of microseconds; without it a sign-in costs the caller's thread a
    // quarter less, 0.57 ms for 0.76.
    atomics: 'disabled',
  })
}

import { Redis, type RedisOptions } from 'ioredis'
import { script, scriptDigest } from './redis-script.ts'
import type { Seed } from './redis-seeds.ts'

/** What every connection has in common. Nothing is kept for later: a check that is sent late was answered 503 before. */
export const connectionOptions = {
  connectionName: 'keyrail',
  disableClientInfo: true,
  protocol: 2,
  connectTimeout: 1_000,
  // A server that says nothing for so long while it is asked is given up, and asked anew over another connection.
  socketTimeout: 1_500,
  disconnectTimeout: 100,
  keepAlive: 5_000,
  maxLoadingRetryTime: 200,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
} as const satisfies RedisOptions

/** Between one attempt to connect and the next. */
export const retryMs = 100

/** What has certainly not been sent, so that it may be sent elsewhere. */
export class NotSent extends Error {
  override name = 'NotSent'
}

/** One Redis, over one connection that comes back by itself. */
export interface RedisNode {
  readonly place: string
  /**
   * Runs the script once.
   * @param asking in a slot that is being moved here.
   * @throws {NotSent} when there is no connection.
   */
  run(keys: readonly string[], args: readonly string[], asking?: boolean): Promise<unknown>
  /** `CLUSTER SLOTS`, within a time. */
  slots(): Promise<unknown>
  isReady(): boolean
  close(): void
}

export interface NodeObserver {
  /** It cannot be reached, or does not let us in. */
  lost(place: string, error: unknown): void
}

export function openNode({ place, options }: Seed, observer: NodeObserver): RedisNode {
  const redis = new Redis({
    ...connectionOptions,
    ...options,
    retryStrategy: () => retryMs,
    // Its name leads to another server by now, where a replica was promoted.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  })
  let attempt = newAttempt()
  let last: unknown = null
  let isClosed = false
  const notSent = () => new NotSent(`no connection to Redis at ${place}`, { cause: last })
  const endAttempt = () => {
    attempt.reject(notSent())
    attempt = newAttempt()
    if (!isClosed) observer.lost(place, notSent())
  }
  redis.on('ready', () => attempt.resolve())
  redis.on('error', error => {
    last = error
  })
  redis.on('close', endAttempt)
  redis.on('end', endAttempt)

  const connected = async () => {
    if (redis.status === 'ready') return
    // Between two attempts nobody waits for the next.
    if (redis.status !== 'connecting' && redis.status !== 'connect') throw notSent()
    await attempt.promise
  }
  const send = async (
    command: 'evalsha' | 'eval',
    text: string,
    rest: readonly string[],
    asking: boolean,
  ) => {
    if (redis.status !== 'ready') throw new NotSent(`no connection to Redis at ${place}`, { cause: last })
    // Both leave together: it is for the very next command alone.
    const asked = asking ? redis.asking() : null
    const [answer] = await Promise.all([redis.call(command, text, ...rest), asked])
    return answer
  }

  return {
    place,
    async run(keys, args, asking = false) {
      await connected()
      const rest = [String(keys.length), ...keys, ...args]
      try {
        return await send('evalsha', scriptDigest, rest, asking)
      } catch (error) {
        // It was not run: the server has been restarted, or was told to forget.
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
        return await send('eval', script, rest, asking)
      }
    },
    async slots() {
      await connected()
      return await redis.cluster('SLOTS')
    },
    isReady: () => redis.status === 'ready',
    close() {
      isClosed = true
      redis.disconnect()
    },
  }
}

function newAttempt(): PromiseWithResolvers<void> {
  const attempt = Promise.withResolvers<void>()
  // Most of the time nobody waits for it.
  attempt.promise.catch(() => {})
  return attempt
}

import { Redis, type RedisOptions } from 'ioredis'
import { type Script, script, scriptForFull } from './script.ts'
import type { Seed } from './seeds.ts'

/** Options of every connection. The library must queue no command: a check that is sent late has been answered 503 already. */
export const connectionOptions = {
  connectionName: 'keyrail',
  disableClientInfo: true,
  protocol: 2,
  connectTimeout: 1_000,
  // After so long without an answer, the connection is given up, and a new one is made.
  socketTimeout: 1_500,
  disconnectTimeout: 100,
  keepAlive: 5_000,
  maxLoadingRetryTime: 200,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
} as const satisfies RedisOptions

/** The pause between two attempts to connect. */
export const retryMs = 100

/** The command was certainly not sent, so it may be sent to another server. */
export class NotSent extends Error {
  override name = 'NotSent'
}

/** One Redis server, over one connection that reconnects by itself. */
export interface RedisNode {
  readonly place: string
  /**
   * Runs the script once; on a full server, the script for full servers.
   * @param asking true for a slot that is being moved to this server.
   * @throws {NotSent} when there is no connection.
   */
  run(keys: readonly string[], args: readonly string[], asking?: boolean): Promise<unknown>
  /** Asks `CLUSTER SLOTS`. */
  slots(): Promise<unknown>
  /** Sends one command. @throws {NotSent} when there is no connection. */
  ask(command: string, ...args: string[]): Promise<unknown>
  isReady(): boolean
  close(): void
}

export interface NodeObserver {
  /** The server cannot be reached, or rejects the login. */
  lost(place: string, error: unknown): void
}

export function openNode({ place, options, login }: Seed, observer: NodeObserver): RedisNode {
  const redis = new Redis({
    ...connectionOptions,
    ...options,
    ...login(),
    // The library reads its options again for each connection.
    retryStrategy() {
      Object.assign(redis.options, { username: null, password: null, ...login() })
      return retryMs
    },
    // After a replica is promoted, the name may resolve to another server.
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
    // Between two attempts callers are refused at once.
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
    // ASKING applies only to the next command, so both are sent together.
    const asked = asking ? redis.asking() : null
    const [answer] = await Promise.all([redis.call(command, text, ...rest), asked])
    return answer
  }

  const runScript = async ({ text, digest }: Script, rest: readonly string[], asking: boolean) => {
    try {
      return await send('evalsha', digest, rest, asking)
    } catch (error) {
      // The server did not run the script: it was restarted, or its scripts were flushed.
      if (!isOfText(error, /^NOSCRIPT/)) throw error
      return await send('eval', text, rest, asking)
    }
  }

  return {
    place,
    async run(keys, args, asking = false) {
      await connected()
      const rest = [String(keys.length), ...keys, ...args]
      try {
        return await runScript(script, rest, asking)
      } catch (error) {
        // The server is full and did not run the script.
        if (!isOfText(error, refusedAsFull)) throw error
        return await runScript(scriptForFull, rest, asking)
      }
    },
    async slots() {
      await connected()
      return await redis.cluster('SLOTS')
    },
    async ask(command, ...args) {
      await connected()
      return await redis.call(command, ...args)
    },
    isReady: () => redis.status === 'ready',
    close() {
      isClosed = true
      redis.disconnect()
    },
  }
}

/** The error of a full server, before a script starts. The same error of a command within a script continues with `script:`. */
const refusedAsFull = /^OOM (?!.*script:)/

const isOfText = (error: unknown, text: RegExp) => error instanceof Error && text.test(error.message)

function newAttempt(): PromiseWithResolvers<void> {
  const attempt = Promise.withResolvers<void>()
  // Mostly no caller waits for the attempt, and its rejection must not end the process.
  attempt.promise.catch(() => {})
  return attempt
}

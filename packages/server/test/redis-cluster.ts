import { Redis } from 'ioredis'
import { type RedisServer, startRedis } from './redis-server.ts'
import { until } from './until.ts'

/** A real Redis Cluster of three masters, each with a third of the slots, and a replica of the first. */
export interface RedisCluster {
  readonly masters: readonly RedisServer[]
  readonly replica: RedisServer
  /** A `REDIS_URL` with two of its nodes. */
  readonly url: string
  /** The master that has a slot. */
  masterOf(slot: number): RedisServer
  ask(server: RedisServer, ...command: [string, ...string[]]): Promise<unknown>
}

const slotCount = 16_384
/** Longer than a process waits for its turn on a busy machine, because the cluster takes a late node for dead. */
const nodeTimeoutMs = 2_000

export async function startRedisCluster(): Promise<RedisCluster> {
  const settings = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', `${nodeTimeoutMs}`],
    // Without this setting, losing one shard stops the others.
    ...['--cluster-require-full-coverage', 'no', '--cluster-replica-validity-factor', '0'],
    ...['--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0'],
  ]
  const servers = await Promise.all(Array.from({ length: 4 }, () => startRedis(settings)))
  const [first, second, third, replica] = servers as [RedisServer, RedisServer, RedisServer, RedisServer]
  const masters = [first, second, third]
  const share = Math.ceil(slotCount / masters.length)
  for (const [i, server] of masters.entries()) {
    const from = i * share
    await ask(server, 'CLUSTER', 'SET-CONFIG-EPOCH', `${i + 1}`)
    await ask(server, 'CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${Math.min(from + share, slotCount) - 1}`)
  }
  for (const server of servers.slice(1)) await ask(first, 'CLUSTER', 'MEET', '127.0.0.1', `${server.port}`)
  for (const server of servers)
    await untilInfo(server, 'CLUSTER', /cluster_state:ok[\s\S]*cluster_known_nodes:4/)
  await ask(replica, 'CLUSTER', 'REPLICATE', String(await ask(first, 'CLUSTER', 'MYID')))
  await untilInfo(replica, 'INFO', /master_link_status:up/)
  for (const server of masters) {
    await until(async () => /slave [0-9a-f]{40}/.test(String(await ask(server, 'CLUSTER', 'NODES'))))
  }
  return {
    masters,
    replica,
    url: `${third.url},${second.url}`,
    masterOf: slot => masters[Math.floor(slot / share)] as RedisServer,
    ask,
  }
}

async function ask(server: RedisServer, ...[command, ...args]: [string, ...string[]]): Promise<unknown> {
  const redis = new Redis(server.url, { retryStrategy: null })
  redis.on('error', () => {})
  try {
    return await redis.call(command, ...args)
  } finally {
    redis.disconnect()
  }
}

const untilInfo = (server: RedisServer, command: 'CLUSTER' | 'INFO', wanted: RegExp) =>
  until(async () =>
    wanted.test(String(await (command === 'INFO' ? ask(server, 'INFO') : ask(server, 'CLUSTER', 'INFO')))),
  )

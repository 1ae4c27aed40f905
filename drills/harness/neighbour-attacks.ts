import { randomBytes, randomUUID } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** What an attack gets: its own workspace, and no address of others. */
export interface Target {
  readonly url: string
  /** The attacker's own secret key, project and tenant. */
  readonly live: string
  readonly projectId: string
  readonly tenantId: string
  /** Another network of this machine than the neighbour's. */
  readonly from: string
}

/** The answers of an attack so far. `none`: a connection that ended without an answer. */
export type Tally = Record<string, number>

interface Attacker {
  readonly target: Target
  readonly tally: Tally
  readonly stop: AbortSignal
  /** Sends one request, and reads the whole answer. */
  ask(method: string, path: string, more?: AskMore): Promise<string>
  /** A bare connection, which is closed when the attack ends. */
  open(): Socket
}

interface AskMore {
  readonly token?: string | null
  readonly body?: unknown
  /** The body as it is sent, for bodies that take the attacker longer to write than the service to read. */
  readonly payload?: Buffer
  readonly headers?: Record<string, string>
  /** What is counted of the answer's body after its status. */
  readonly want?: RegExp
  /** Reads nothing of the answer until then. */
  readonly unread?: number
}

type Attack = (attacker: Attacker) => Promise<unknown>

/** Another network than the neighbour's 127.0.0.1. */
export const elsewhere = '127.0.0.2'

/** What one workspace, or one stranger, does at full speed. */
export const attacks = {
  '300 mutations at once of one project': crowd(300, ({ ask, target }) =>
    ask('POST', '/v1/keys', {
      body: { project_id: target.projectId, tenant_id: target.tenantId, env: 'live' },
    }),
  ),
  '64 anonymous resets at once': crowd(64, ({ ask }) =>
    ask('POST', '/v1/auth/password_resets', { token: null, body: { email: anybody() } }),
  ),
  '64 sign-ins at once': crowd(64, ({ ask }) =>
    ask('POST', '/v1/auth/sessions', { token: null, body: { email: anybody(), password: 'a wrong guess' } }),
  ),
  '16 held exports and chain verifications': attacker =>
    Promise.all([
      crowd(16, ({ ask }) => ask('GET', '/v1/audit_logs/export', { unread: 60_000 }))(attacker),
      crowd(8, ({ ask }) => ask('GET', '/v1/audit_logs/chain'))(attacker),
    ]),
  '4 connections of 1 MiB JSON to open routes': crowd(4, ({ ask }) =>
    ask('POST', '/v1/auth/sessions', { token: null, payload: largeJson }),
  ),
  '200 pipelined scripts, unread': crowd(4, pipelineUnread),
  '100 idle announcements of leak reports': crowd(100, announceLeak),
  '1,000 held polls': async attacker => {
    const { ask, target } = attacker
    // The changes of the attacks before this one must not go to a thousand nodes, whose polls are to be held.
    const read = await ask('GET', `/v1/projects/${target.projectId}`, { want: /"policy_version":(\d+)/ })
    const [, version] = read.split(' ')
    const path = `/v1/policy/delta?project_id=${target.projectId}&since=${version}`
    const poll = () => ask('GET', `${path}&node=${randomUUID()}`, { headers: { prefer: 'wait=30' } })
    await crowd(1_000, poll)(attacker)
  },
  '50 nodes that re-seed': crowd(50, ({ ask, target }) =>
    ask('GET', `/v1/policy/snapshot?project_id=${target.projectId}`, {
      headers: { 'accept-encoding': 'identity' },
    }),
  ),
  '8 completions of 4 MiB': crowd(8, completeLarge),
  '3,000 connections of one key': crowd(3_000, ({ ask }) => ask('GET', '/v1/keys?limit=200')),
  '3,000 claims at once of one key': crowd(3_000, ({ ask }) =>
    ask('POST', '/v1/idempotency/claim', {
      body: {
        scope_hash: randomBytes(32).toString('hex'),
        env: 'live',
        fingerprint: '0'.repeat(64),
        ttl_ms: 60_000,
      },
    }),
  ),
  '8 bodies in chunks of one byte': attacker =>
    Promise.all([
      crowd(4, inBytes('/v1/auth/sessions'))(attacker),
      crowd(4, inBytes('/v1/idempotency/complete'))(attacker),
    ]),
} as const satisfies Record<string, Attack>

export type AttackName = keyof typeof attacks

/** This many callers, each of which repeats its request once answered; a refused caller waits briefly. */
function crowd(callers: number, once: (attacker: Attacker) => Promise<string>): Attack {
  const go = async (attacker: Attacker) => {
    while (!attacker.stop.aborted) {
      const heard = await once(attacker).catch(() => 'none')
      attacker.tally[heard] = (attacker.tally[heard] ?? 0) + 1
      if (!/^2/.test(heard)) await sleep(20)
    }
  }
  return attacker => Promise.all(Array.from({ length: callers }, () => go(attacker)))
}

const anybody = () => `${randomBytes(6).toString('hex')}@example.com`

/** An escape makes a parser take the slow way. */
const largeJson = Buffer.from(
  JSON.stringify(
    Object.fromEntries(Array.from({ length: 75_000 }, (_, i) => [i === 0 ? 'k\u0001' : `k${i}`, 1] as const)),
  ),
)

/** 200 requests in one write, and not a byte of the answers is read. */
async function pipelineUnread({ open, target, stop }: Attacker): Promise<string> {
  const socket = open()
  const { host } = new URL(target.url)
  socket.pause()
  socket.write(`GET /docs/js/scalar.js HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(200))
  await closed(socket, stop, 5_000)
  return 'sent'
}

/** A head that announces a megabyte, and then nothing. */
async function announceLeak({ open, target, stop }: Attacker): Promise<string> {
  const socket = open()
  const { host } = new URL(target.url)
  socket.resume()
  socket.write(
    [
      'POST /v1/webhooks/codehost/secret_scanning HTTP/1.1',
      `host: ${host}`,
      'content-type: application/json',
      'content-length: 1048576',
      `github-public-key-identifier: ${'0'.repeat(64)}`,
      `github-public-key-signature: ${randomBytes(70).toString('base64')}`,
      '\r\n',
    ].join('\r\n'),
  )
  await closed(socket, stop, 60_000)
  return 'sent'
}

/** A megabyte of a body, each byte of it in a chunk. */
const chunksOfOneByte = Buffer.from('1\r\na\r\n'.repeat(1_048_576))
const inBytes =
  (path: string) =>
  async ({ open, target, stop }: Attacker): Promise<string> => {
    const socket = open()
    const { host } = new URL(target.url)
    const head = [
      `POST ${path} HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${target.live}`,
      'content-type: application/json',
      'transfer-encoding: chunked',
      '\r\n',
    ]
    socket.resume().write(head.join('\r\n'))
    socket.write(chunksOfOneByte)
    await closed(socket, stop, 10_000)
    return 'sent'
  }

async function completeLarge({ ask, target, tally }: Attacker): Promise<string> {
  const scope = { scope_hash: randomBytes(32).toString('hex'), env: 'live' }
  const claimed = await ask('POST', '/v1/idempotency/claim', {
    body: { ...scope, fingerprint: '0'.repeat(64), ttl_ms: 60_000 },
    want: /"lock_token":"([^"]+)"/,
  })
  const [status = '', lockToken = ''] = claimed.split(' ')
  tally[status] = (tally[status] ?? 0) + 1
  if (target.live === '' || lockToken === '') return status
  return await ask('POST', '/v1/idempotency/complete', {
    payload: withMembers(largeAnswer, { ...scope, lock_token: lockToken }),
  })
}
const largeAnswer = Buffer.from(
  JSON.stringify({ status: 200, body: Buffer.alloc(4_194_304, 'x').toString('base64') }),
)
/** @param json an object that has members. */
const withMembers = (json: Buffer, members: object) =>
  Buffer.concat([Buffer.from(`${JSON.stringify(members).slice(0, -1)},`), json.subarray(1)])

async function closed(socket: Socket, stop: AbortSignal, ms: number): Promise<void> {
  const over = new Promise<void>(resolve => {
    socket.once('close', () => resolve())
    stop.addEventListener('abort', () => resolve(), { once: true })
  })
  await Promise.race([over, sleep(ms, undefined, { ref: false })])
  socket.destroy()
}

/** Begins an attack; it goes on until the returned function is called, which closes all its connections. */
export function startAttack(name: AttackName, target: Target): { tally: Tally; stop(): Promise<void> } {
  const stop = new AbortController()
  const tally: Tally = {}
  const { hostname, port } = new URL(target.url)
  const agent = new Agent({ keepAlive: true, maxSockets: 4_000 })
  const bare = new Set<Socket>()
  const attacker: Attacker = {
    target,
    tally,
    stop: stop.signal,
    open() {
      const socket = connect({ host: hostname, port: Number(port), localAddress: target.from })
      socket.on('error', () => {})
      socket.on('close', () => bare.delete(socket))
      bare.add(socket)
      return socket
    },
    ask(
      method,
      path,
      { token = target.live, body, payload = toJson(body), headers = {}, want, unread = 0 } = {},
    ) {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const call = request({
        method,
        hostname,
        port,
        path,
        agent,
        localAddress: target.from,
        signal: stop.signal,
        headers: {
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(payload !== undefined && {
            'content-type': 'application/json',
            'content-length': payload.length,
          }),
          ...headers,
        },
      })
      call.on('error', reject)
      call.on('response', response => {
        const done = (text: string) =>
          resolve(`${response.statusCode}${want === undefined ? '' : ` ${want.exec(text)?.[1] ?? ''}`}`)
        readLater(response, unread).then(done, reject)
      })
      call.end(payload)
      return promise
    },
  }
  const running = attacks[name](attacker)
  return {
    tally,
    async stop() {
      stop.abort()
      for (const socket of bare) socket.destroy()
      agent.destroy()
      await running
    },
  }
}

const toJson = (body: unknown) => (body === undefined ? undefined : Buffer.from(JSON.stringify(body)))

async function readLater(response: IncomingMessage, ms: number): Promise<string> {
  if (ms > 0 && response.statusCode === 200) await sleep(ms, undefined, { ref: false })
  const chunks: Buffer[] = []
  for await (const chunk of response) if (chunks.length < 8) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

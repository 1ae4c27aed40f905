import type { Agent } from 'node:http'
import { envProxy } from './env-proxy.ts'
import { ofNode } from './of-node.ts'

/** `node:http` or `node:https` for a service, with kept connections that all calls of the process share. */

/**
 * Connections to one service; a call beyond them waits. A call that the service holds has its connection to itself, and a busy
 * process sends its checks in lists.
 */
const SOCKETS_MAX = 256
/**
 * How long a connection is kept without a call. Less than at a service (72 s) and at common proxies (60 s): a call on a connection
 * that is just being closed fails, and is not repeated, because it may have been executed. `Keep-Alive` of an answer shortens it.
 */
const FREE_MS = 30_000

export interface NodeHttp {
  /** The module. An instrumentation may replace its functions at any time. */
  http: Pick<typeof import('node:http'), 'request'>
  zlib: typeof import('node:zlib')
  /** @throws Error if the environment names a proxy that is no http or https address */
  agent(): Agent
  /** Whether agents take the proxy of the environment: Node's do from 24.5 on, and those of 22 from 22.21. */
  takesProxy: boolean
}

/** By scheme and proxy. */
const agents = new Map<string, Agent>()

/**
 * Undefined where the runtime is not Node, or returns no modules by name (before 20.16). Others may have such modules too, but their
 * `fetch` is what they are made for.
 */
export function nodeHttp(service: URL): NodeHttp | undefined {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } }
  if (navigator?.userAgent === 'Cloudflare-Workers') return undefined
  return ofNode(process => {
    const { bun, deno, node } = process.versions
    if (bun !== undefined || deno !== undefined || node === undefined) return undefined
    const http = process.getBuiltinModule(service.protocol === 'https:' ? 'node:https' : 'node:http')
    const zlib = process.getBuiltinModule('node:zlib')
    const takesProxy = process.allowedNodeEnvironmentFlags.has('--use-env-proxy')
    const agent = () => {
      const proxy = takesProxy ? envProxy(service)?.address : undefined
      const name = `${service.protocol} ${proxy ?? ''}`
      const kept = agents.get(name) ?? new http.Agent({ ...options, ...(proxy && proxied(proxy)) })
      agents.set(name, kept)
      return kept
    }
    return { http, zlib, agent, takesProxy }
  })
}

const options = { keepAlive: true, maxSockets: SOCKETS_MAX, timeout: FREE_MS }

/** An agent would ignore another scheme. Without one it is `http`, as for curl. `envProxy` has judged `NO_PROXY`. */
function proxied(given: string) {
  const address = given.includes('://') ? given : `http://${given}`
  if (!/^https?:/.test(address) || !URL.canParse(address))
    throw Object.assign(new Error('No proxy'), { code: 'ERR_PROXY_INVALID_CONFIG' })
  return { proxyEnv: { HTTP_PROXY: address, HTTPS_PROXY: address } }
}

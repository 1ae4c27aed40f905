import { ofNode } from '../runtime/of-node.ts'

/** Where Node's `fetch` finds what sends its requests; other runtimes have nothing there. */
const dispatcher = Symbol.for('undici.globalDispatcher.1')

/**
 * Explains a request that found no way to the service in a process whose environment names a proxy that its `fetch` does not use.
 * Empty if the proxy is used, is not for this host, or nothing is known. An `Agent` connects directly; whatever else is there was
 * chosen, by `NODE_USE_ENV_PROXY` or by the program.
 */
export function unusedProxy(origin: string): string {
  const sender = (globalThis as { [dispatcher]?: object })[dispatcher]
  const { hostname, protocol } = new URL(origin)
  if (sender?.constructor.name !== 'Agent' || isLocal.test(hostname)) return ''
  return (
    ofNode(({ env }) => {
      const read = (name: string) => [name.toLowerCase(), name].find(one => env[one])
      const name = (protocol === 'https:' ? read('HTTPS_PROXY') : undefined) ?? read('HTTP_PROXY')
      if (name === undefined || isExempt(hostname, env[read('NO_PROXY') ?? ''] ?? '')) return undefined
      return `. ${name} is set, and fetch does not use it: Node 24, and 22 from 22.21, do with NODE_USE_ENV_PROXY=1`
    }) ?? ''
  )
}

const isLocal = /^(?:localhost|[\w.-]+\.localhost|127(?:\.\d+){3}|\[::1\])$/

/** Whether a list such as `internal.example, .corp` names the host or a domain above it. */
const isExempt = (hostname: string, list: string): boolean =>
  list
    .split(/[\s,]+/)
    .map(entry =>
      entry
        .toLowerCase()
        .replace(/^\*?\./, '')
        .replace(/:\d+$/, ''),
    )
    .some(entry => entry === '*' || entry === hostname || (entry !== '' && hostname.endsWith(`.${entry}`)))

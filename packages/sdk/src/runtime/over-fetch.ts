import { envProxy } from './env-proxy.ts'
import type { Incoming, Transport } from './transport.ts'
import { uncached } from './uncached.ts'

/** Where the `fetch` of Node finds what sends its requests; other runtimes have nothing there. */
const dispatcher = Symbol.for('undici.globalDispatcher.1')

const dispatcherName = (): string | undefined =>
  (globalThis as { [dispatcher]?: object })[dispatcher]?.constructor.name

/**
 * Whether `NODE_USE_ENV_PROXY` or the program chose what sends the requests of `fetch`: a proxy, or a double of a test. An `Agent` is
 * the default, and connects directly.
 */
export const hasChosenDispatcher = (): boolean => (dispatcherName() ?? 'Agent') !== 'Agent'

/** Whether the function is the one that Node defines, by its source. A Node that defines it otherwise only pays for `fetch`. */
export const isNodesFetch = (fetch: typeof globalThis.fetch): boolean =>
  typeof fetch === 'function' &&
  /internal\/deps\/undici|lazyUndici/.test(Function.prototype.toString.call(fetch))

/** Sends by a `fetch`. */
export function overFetch(fetch: typeof globalThis.fetch, service: URL): Transport {
  const isGlobal = fetch === globalThis.fetch
  return {
    async send({ method, url, headers, body }, signal) {
      // Without a receiver, because the fetch of some hosts rejects any other.
      const response = await fetch(url, {
        method,
        headers,
        ...(body !== undefined && { body }),
        // Workers do not support `error`.
        redirect: 'manual',
        ...uncached(),
        signal,
      })
      return incomingOf(response)
    },
    unusedProxy() {
      if (!isGlobal || dispatcherName() !== 'Agent') return ''
      const name = envProxy(service)?.name
      if (name === undefined) return ''
      return `. ${name} is set, and fetch does not use it: Node 24, and 22 from 22.21, do with NODE_USE_ENV_PROXY=1`
    },
  }
}

const incomingOf = (response: Response): Incoming => ({
  status: response.status,
  headers: response.headers,
  body: (response.body ?? nothing()) as AsyncIterable<Uint8Array>,
  drop: () => void response.body?.cancel().catch(() => {}),
})

async function* nothing(): AsyncGenerator<Uint8Array> {}

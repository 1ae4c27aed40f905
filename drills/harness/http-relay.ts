import type { AddressInfo } from 'node:net'
import { type Relay, startRelay } from './relay.ts'

/** A relay before the service. Its address stays the same while the service behind it restarts. */
export async function startHttpRelay(serviceUrl: () => string): Promise<Relay & { url: string }> {
  const relay = await startRelay(
    { host: '127.0.0.1', port: 0 },
    () => {
      const { hostname, port } = new URL(serviceUrl())
      return { host: hostname, port: Number(port) }
    },
    () => bytes => [{ label: 'bytes', bytes }],
  )
  const { port } = relay.server.address() as AddressInfo
  return { ...relay, url: `http://127.0.0.1:${port}` }
}

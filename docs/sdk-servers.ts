import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { after } from 'node:test'
import type { KeyringOptions } from '../packages/sdk/src/index.ts'

/** Listens until the test ends. */
export async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A server that answers so, as an option of a maker. */
export const answering = async (listener: RequestListener): Promise<KeyringOptions> => ({
  url: `http://127.0.0.1:${await portOf(createHttpServer(listener))}`,
})

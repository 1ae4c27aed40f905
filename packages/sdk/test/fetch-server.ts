import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { after } from 'node:test'

export type FetchHandler = (request: Request) => Response | Promise<Response>

/** Serves a handler of the Fetch API on a real socket. */
export async function serveFetch(handle: FetchHandler): Promise<string> {
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { method = 'GET', rawHeaders, url = '/' } = incoming
    const headers = new Headers()
    for (let at = 0; at < rawHeaders.length; at += 2) {
      headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string)
    }
    const body = method === 'GET' || method === 'HEAD' ? null : (Readable.toWeb(incoming) as ReadableStream)
    const init = { method, headers, body, duplex: 'half' } as RequestInit
    const response = await handle(new Request(`http://${incoming.headers.host}${url}`, init))
    outgoing.writeHead(response.status, [...response.headers].flat())
    if (response.body !== null) for await (const chunk of response.body) outgoing.write(chunk)
    outgoing.end()
  }
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.headersSent || outgoing.writeHead(500).end())
  })
  return listen(server)
}

/** @returns its address; it ends with the test file */
export async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

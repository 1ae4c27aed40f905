import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'

interface RelayedCall {
  method: string
  path: string
  body: string
}

/** What a call is held for: nothing is sent on, and no answer comes. */
type IsHeld = (call: RelayedCall) => boolean

/** A way to a service that can hold calls, and end answers after some bytes. */
export interface HeldRelay {
  readonly url: string
  /** Where it leads. */
  target: string
  /** How many calls it holds. */
  held: number
  isHeld: IsHeld
  /** Called when an answer begins. */
  answered: (call: RelayedCall, status: number) => void
  /** Bytes of an answer after which it stands still. */
  answerBytesMost: number
  close(): Promise<void>
}

export async function startHeldRelay(target: string): Promise<HeldRelay> {
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const relay: HeldRelay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target,
    held: 0,
    isHeld: () => false,
    answered: () => {},
    answerBytesMost: Number.POSITIVE_INFINITY,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request
    const body = await buffer(request)
    const call = { method, path: url, body: body.toString() }
    if (relay.isHeld(call)) {
      relay.held += 1
      return
    }
    const { host: _, connection: _c, 'content-length': _l, ...headers } = request.headers
    const answer = await fetch(`${relay.target}${url}`, {
      method,
      headers: headers as Record<string, string>,
      ...(body.length > 0 && { body }),
    })
    relay.answered(call, answer.status)
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    let sent = 0
    if (answer.body === null) return void response.end()
    for await (const chunk of Readable.fromWeb(answer.body as never) as AsyncIterable<Buffer>) {
      response.write(chunk.subarray(0, relay.answerBytesMost - sent))
      sent += chunk.length
      if (sent < relay.answerBytesMost) continue
      relay.held += 1
      return
    }
    response.end()
  }
  return relay
}

import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { AskApi } from './mutations.ts'

export type Heard = Awaited<ReturnType<AskApi>> & { headers: IncomingHttpHeaders }

/** A client whose requests go on one connection, or each on a new one. */
export function clientOf(url: string, agent: Agent | false) {
  return async (...[method, path, { token, body, headers } = {}]: Parameters<AskApi>): Promise<Heard> => {
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const asked = request(`${url}${path}`, {
      agent,
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(sent !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(sent),
        }),
        ...headers,
      },
    })
    asked.end(sent)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    const text = (await answer.toArray()).join('')
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: text && JSON.parse(text) }
  }
}

/** A client whose requests go on one connection. */
export const oneConnection = (url: string) => clientOf(url, new Agent({ keepAlive: true, maxSockets: 1 }))

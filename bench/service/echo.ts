import { join } from 'node:path'
import type { BenchRun } from '../harness/bench.ts'
import type { HttpRequest } from '../harness/request.ts'
import { freePort, type ServerProcess, spawnServer } from '../harness/spawn-server.ts'

export type Echo = ServerProcess & { url: string }

/** A bare Fastify that takes a POST and returns the same bytes to any client: the control of HTTP calls. */
export async function startEcho(run: BenchRun, answer: string): Promise<Echo> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = await run.use(
    spawnServer({
      script: join(import.meta.dirname, '..', 'harness', 'bare-fastify.ts'),
      args: ['--port', String(port), '--answer', answer],
      ready: { url: `${url}/healthz` },
    }),
  )
  return { ...server, url }
}

/** The same requests, for the echo. */
export const toEcho = (requests: readonly HttpRequest[]): HttpRequest[] =>
  requests.map(request => ({ ...request, path: '/echo' }))

/** The answer of a request, for an echo that must be as long. */
export async function answerTo(
  url: string,
  { path = '/', method = 'GET', headers, body }: HttpRequest,
): Promise<string> {
  const answer = await fetch(url + path, { method, ...(headers && { headers }), ...(body && { body }) })
  return await answer.text()
}

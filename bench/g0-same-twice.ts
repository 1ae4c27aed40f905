import { join } from 'node:path'
import type { Arm, Bench } from './harness/bench.ts'
import { meteredLoop } from './harness/request-arm.ts'
import { freePort, spawnServer } from './harness/spawn-server.ts'

/**
 * The harness against itself: one server under two names. The interval must contain 1; its width is the smallest
 * difference that this machine can show today.
 */

const CONNECTIONS = 32
const BODY = JSON.stringify({ namespace: 'api', identifier: 'user_1234', cost: 1, note: 'n'.repeat(200) })
const script = join(import.meta.dirname, 'harness', 'bare-fastify.ts')

export const bench: Bench = {
  name: 'G0',
  title: 'The same bare Fastify twice: the smallest difference that this machine shows',
  goal: { metric: 'requests/CPU s', direction: 'at least', floor: 0.85, moonshot: 0.95 },
  async arms(run) {
    const url = `http://127.0.0.1:${await freePort()}`
    const server = await run.use(
      spawnServer({ script, args: ['--port', new URL(url).port], ready: { url: `${url}/healthz` } }),
    )
    const arm = (name: string, role: Arm['role']): Arm => ({
      name,
      role,
      async measure({ seconds }) {
        const requests = [
          { method: 'POST', path: '/echo', headers: { 'content-type': 'application/json' }, body: BODY },
        ] as const
        const load = { url, connections: CONNECTIONS, seconds, requests, expectBody: BODY }
        const { values, statuses, doubt } = await meteredLoop({ service: server }, load)
        return { values, answer: Object.keys(statuses), doubt }
      },
    })
    return [arm('one', 'subject'), arm('other', 'control')]
  },
}

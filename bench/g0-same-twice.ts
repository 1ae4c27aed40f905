import { join } from 'node:path'
import type { Arm, Bench } from './harness/bench.ts'
import { closedLoop } from './harness/load.ts'
import { freePort, spawnServer } from './harness/spawn-server.ts'

/**
 * The harness against itself: one server under two names. Its interval must hold 1, and how wide that is
 * tells what this machine can tell apart today.
 */

const CONNECTIONS = 32
const BODY = JSON.stringify({ namespace: 'api', identifier: 'user_1234', cost: 1, note: 'n'.repeat(200) })
const script = join(import.meta.dirname, 'harness', 'bare-fastify.ts')

export const bench: Bench = {
  name: 'G0',
  title: 'The same bare Fastify twice: what this machine can tell apart',
  goal: { metric: 'requests/s', direction: 'at least', floor: 0.85, moonshot: 0.95 },
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
        const cpuBefore = server.cpuSeconds()
        const { answered, perSecond, statuses, doubt } = await closedLoop(load)
        // What neighbours on the core take away slows the rate, but hardly the CPU time of a request.
        const cpuUs = ((server.cpuSeconds() - cpuBefore) * 1e6) / answered
        const values = { 'requests/s': perSecond, 'CPU us/request': cpuUs }
        return { values, answer: Object.keys(statuses), doubt }
      },
    })
    return [arm('one', 'subject'), arm('other', 'control')]
  },
}

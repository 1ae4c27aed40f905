import type { Arm } from '../harness/bench.ts'
import { closedLoop } from '../harness/load.ts'
import type { HttpRequest } from '../harness/request.ts'

/** How many rate-limit checks a second one side takes, each of which must be allowed. */
export const checkArm = (
  name: string,
  role: Arm['role'],
  url: string,
  requests: readonly HttpRequest[],
): Arm => ({
  name,
  role,
  async measure({ seconds }) {
    const load = { url, connections: 64, seconds, requests, expectBody: '"allowed":true' }
    const { perSecond, doubt } = await closedLoop(load)
    return { values: { 'requests/s': perSecond }, answer: 'each allowed', doubt }
  },
})

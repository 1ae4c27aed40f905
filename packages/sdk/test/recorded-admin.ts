import { openAdmin } from '../src/admin/open.ts'
import type { AdminOptions } from '../src/admin.ts'
import { ManualTimer } from './manual-timer.ts'

interface Sent {
  method: string
  path: string
  headers: Headers
  body: unknown
}

/** Opens clients whose requests are recorded, and answered by the test or else by the service. */
export const recordedAdmin =
  (connection: AdminOptions) =>
  (options: Partial<AdminOptions> = {}) => {
    const timer = new ManualTimer()
    const sent: Sent[] = []
    const instead: ((pass: () => Promise<Response>) => Promise<Response>)[] = []
    const recorded: typeof fetch = (url, init) => {
      const { pathname, search } = new URL(String(url))
      const body = init?.body === undefined ? undefined : JSON.parse(String(init.body))
      sent.push({
        method: String(init?.method),
        path: pathname + search,
        headers: new Headers(init?.headers),
        body,
      })
      const pass = () => fetch(url, init)
      return instead.shift()?.(pass) ?? pass()
    }
    const client = openAdmin({ ...connection, fetch: recorded, ...options }, { timer, random: () => 0.5 })
    return { admin: client, timer, sent, instead }
  }

import { setTimeout as sleep } from 'node:timers/promises'
import { type Api, Unanswered } from './api.ts'

/** One question that was put during an outage, and what came of it. Times on the clock of `performance.now()`. */
export interface Probe {
  url: string
  sentAt: number
  /** 0 where no whole answer came. */
  status: number
  code: string | undefined
  ms: number
}

const everyMs = 100

/** Asks the same few questions again and again, each at its own pace, until stopped. */
export function startWatch(api: Api, questions: readonly { url: string; token?: string }[]) {
  const probes: Probe[] = []
  let stopping = false
  const running = questions.map(async ({ url, token }) => {
    while (!stopping) {
      probes.push(await probe(api, url, token))
      await sleep(everyMs)
    }
  })
  return {
    probes,
    async stop() {
      stopping = true
      await Promise.all(running)
    },
  }
}

export async function probe(api: Api, url: string, token?: string): Promise<Probe> {
  const sentAt = performance.now()
  try {
    const { status, body, ms } = await api.ask('GET', url, token === undefined ? {} : { token })
    return { url, sentAt, status, code: body?.code, ms }
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error
    return { url, sentAt, status: 0, code: undefined, ms: performance.now() - sentAt }
  }
}

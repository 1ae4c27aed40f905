import { setTimeout as sleep } from 'node:timers/promises'
import { type Api, Unanswered } from './api.ts'

/** One request during an outage, and its result. Times on the clock of `performance.now()`. */
export interface Probe {
  what: string
  sentAt: number
  /** 0 without a complete answer. */
  status: number
  code: string | undefined
  ms: number
}

/** A POST if it has a body. */
export interface Question {
  url: string
  token?: string
  body?: () => object
}

const everyMs = 100

/** Repeats the same few requests, each at its own pace, until stopped. */
export function startWatch(api: Api, questions: readonly Question[]) {
  const probes: Probe[] = []
  let stopping = false
  const running = questions.map(async question => {
    while (!stopping) {
      probes.push(await probe(api, question))
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

export async function probe(api: Api, { url, token, body: make }: Question): Promise<Probe> {
  const sentAt = performance.now()
  const method = make === undefined ? 'GET' : 'POST'
  const what = `${method} ${url}`
  try {
    const { status, body, ms } = await api.ask(method, url, {
      ...(token !== undefined && { token }),
      ...(make !== undefined && { body: make() }),
    })
    return { what, sentAt, status, code: body?.code, ms }
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error
    return { what, sentAt, status: 0, code: undefined, ms: performance.now() - sentAt }
  }
}

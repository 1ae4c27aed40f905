import autocannon from 'autocannon'
import { serveGenerator } from './generator.ts'
import { type Expectation, type HttpRequest, type RequestSource, requestMaker } from './request.ts'

export type LoadPlan = Expectation & {
  url: string
  connections: number
  seconds: number
  requests: RequestSource
}

export type LoadCounts = {
  /** Answers, right and wrong. */
  answered: number
  /** What the load took, in seconds. */
  seconds: number
  statuses: Record<string, number>
  wrong: number
  /** Connections that broke or timed out. */
  failed: number
  /** Share of its core that the generator used, 0 to 1. */
  generatorBusy: number
}

await serveGenerator<LoadPlan, LoadCounts>(async plan => {
  const { expectStatus = 200, expectBody } = plan
  const requests = await autocannonRequests(plan.requests)
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  let turn = 0
  const result = await autocannon({
    url: plan.url,
    connections: plan.connections,
    duration: plan.seconds,
    // How often it looks for the end, in milliseconds; by default once a second.
    sampleInt: 100,
    requests,
    // Each connection starts elsewhere in the list, so that they do not all send the same request at a time.
    setupClient: client => {
      const by = turn++ % requests.length
      if (by > 0)
        client.setRequests([...requests.slice(by), ...requests.slice(0, by)].map(one => ({ ...one })))
    },
    ...(expectBody === undefined ? {} : { verifyBody: body => String(body).includes(expectBody) }),
  })
  const cpu = process.cpuUsage(cpuBefore)
  const statuses = Object.fromEntries(
    Object.entries(result.statusCodeStats ?? {}).map(([status, { count = 0 }]) => [status, count]),
  )
  const answered = Object.values(statuses).reduce((sum, count) => sum + count, 0)
  return {
    answered,
    seconds: result.duration,
    statuses,
    wrong: answered - (statuses[expectStatus] ?? 0) + result.mismatches,
    failed: result.errors,
    generatorBusy: (cpu.user + cpu.system) / 1_000 / (performance.now() - startedAt),
  }
})

/** A list is encoded once, ahead; a module is called for each request. */
async function autocannonRequests(source: RequestSource): Promise<autocannon.Request[]> {
  const make = await requestMaker(source)
  if (!('module' in source)) return source.map(request => toAutocannon(request))
  let n = 0
  return [{ setupRequest: defaults => ({ ...defaults, ...toAutocannon(make(n++)) }) }]
}

/** A copy for each connection: autocannon writes the length into the headers. */
function toAutocannon({ method = 'GET', path = '/', headers, body }: HttpRequest): autocannon.Request {
  return { method, path, headers: { ...headers }, ...(body === undefined ? {} : { body }) }
}

import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { backoffMs } from './fleet-backoff.ts'
import { FleetConnection, type Received } from './fleet-connection.ts'
import { FleetPage } from './fleet-page.ts'
import { pull, type Trigger } from './fleet-trigger.ts'

export type StormPlan = {
  url: string
  nodes: number
  headers: Readonly<Record<string, string>>
  /** What each node asks before the storm; `node` is added to each of these three, and `cursor` to the last one. */
  greeting: string
  first: string
  next: string
  /** What starts the storm; null: nothing. */
  trigger: Trigger | null
  /** What every node must hold in the end: that many keys, each with these limits. */
  keys: number
  rateLimits: unknown
}

export type StormCounts = {
  /** From the answer to the trigger until the last node has its last page. */
  ms: number
  bytes: number
  /** Answers of 503. A node that gets one asks again, later each time. */
  refused: number
  /** SHA-256 over the ids of the keys, in their order. */
  ids: string
  /** As every node received them. */
  pages: string[]
  /** Share of its core that the fleet used, 0 to 1. */
  generatorBusy: number
}

const connectAtOnce = 100

/**
 * Lets all nodes of a fleet walk a snapshot at once, with a connection each. Every node asks for its next page when it
 * has the one before; its bytes are compared with those of the others.
 *
 * @throws Error when an answer is neither 200 nor 503, nodes received different bytes, or a key is missing or has other
 * limits
 */
export async function storm(plan: StormPlan): Promise<StormCounts> {
  const { nodes, trigger } = plan
  const url = new URL(plan.url)
  const headerLines = Object.entries({ accept: 'application/json', ...plan.headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const fleet: FleetConnection[] = []
  while (fleet.length < nodes) {
    const some = Math.min(connectAtOnce, nodes - fleet.length)
    fleet.push(...(await Promise.all(Array.from({ length: some }, () => FleetConnection.open(url)))))
    // A few at a time: a running fleet does not connect all at once.
    await Promise.all(
      fleet
        .slice(-some)
        .map((node, n) => greet(node, `${plan.greeting}&node=bench-${fleet.length - some + n}`, headerLines)),
    )
  }

  const pages: FleetPage[] = []
  let refused = 0
  const walk = async (node: FleetConnection, name: string) => {
    let path = plan.first
    let failures = 0
    for (let place = 0; ; ) {
      const page = pages[place] ?? new FleetPage(dateBytes)
      pages[place] = page
      let problem = ''
      const received = await node.ask(`${path}&node=${name}`, headerLines, (piece, offset, status) => {
        if (status === 200) page.take(piece, offset)
        else problem += piece.toString()
      })
      if (received.status === 503) {
        refused++
        await sleep(backoffMs(++failures))
        continue
      }
      requireOk(received, () => problem)
      failures = 0
      page.end(received.bytes)
      const cursor = page.nextCursor()
      if (cursor === null) return
      path = `${plan.next}&cursor=${cursor}`
      place++
    }
  }
  const startedAt = trigger === null ? performance.now() : (await pull(trigger)).at
  const cpuBefore = process.cpuUsage()
  await Promise.all(fleet.map((node, n) => walk(node, `bench-${n}`)))
  const ms = performance.now() - startedAt
  const cpu = process.cpuUsage(cpuBefore)
  for (const node of fleet) node.close()
  if (!pages.every(page => page.isOne)) throw new Error('nodes received different pages')
  return {
    ms,
    bytes: nodes * pages.reduce((sum, page) => sum + page.bytes, 0),
    refused,
    ids: readKeys(pages, plan),
    pages: pages.map(page => page.text()),
    generatorBusy: (cpu.user + cpu.system) / 1000 / ms,
  }
}

/** Every answer ends with its own time. */
const dateBytes = `"generated_at":"${new Date(0).toISOString()}"}`.length

async function greet(node: FleetConnection, path: string, headerLines: string): Promise<void> {
  let text = ''
  const received = await node.ask(path, headerLines, piece => {
    text += piece.toString()
  })
  requireOk(received, () => text)
}

function requireOk({ status }: Received, text: () => string): void {
  if (status !== 200) throw new Error(`a node was answered ${status}: ${text().slice(0, 500)}`)
}

/** @returns the digest of the ids. @throws Error when the pages are not the snapshot that every node must have */
function readKeys(pages: readonly FleetPage[], { keys, rateLimits }: StormPlan): string {
  const read = pages.map(page => JSON.parse(page.text()))
  const stranger = read.find(
    ({ object, version }) => object !== 'policy_snapshot' || version !== read[0].version,
  )
  if (stranger) throw new Error(`a page is a ${stranger.object} of version ${stranger.version}`)
  const all: { key_id: string; rate_limits: unknown }[] = read.flatMap(page => page.keys)
  const ids = new Set(all.map(key => key.key_id))
  if (ids.size !== keys || all.length !== keys) {
    throw new Error(`${all.length} keys, ${ids.size} of them different, instead of ${keys}`)
  }
  const other = all.find(key => !isDeepStrictEqual(key.rate_limits, rateLimits))
  if (other) throw new Error(`key ${other.key_id} has the limits ${JSON.stringify(other.rate_limits)}`)
  return hash('sha256', [...ids].join('\n'))
}

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Keyring, openKeyring } from '../../packages/sdk/src/keyring/keyring.ts'
import { seeded } from '../../packages/server/test/seeded.ts'
import { startDrillCluster } from './cluster.ts'
import { type FeedHouse, fetchFrom, openFeedHouse } from './feed-house.ts'
import { until } from './pauses.ts'

/** How long a node may go on after its last confirmation. The keyring's default, repeated on purpose. */
const ttlMs = 60_000
const hourMs = 3_600_000
/** When a node is asked, after its last confirmation. */
export const moments = [0, ttlMs - 1, ttlMs, ttlMs + 1, ttlMs + hourMs] as const

interface Seen {
  situation: string
  /** Verdicts at each of the moments, and how often they came. */
  verdicts: Map<string, number>
}

interface Machine {
  house: FeedHouse
  cacheDir: string
  /** The machine's clock; only the drill moves it. */
  at: { monotonic: number; wall: number; uptime: number }
  /** The clock of the service, which is right. */
  serviceAt: number
  isCut: boolean
  /** How long the next answers take. */
  slowMs: number
  /** The service holds answers for a second. With a number, that is what they say instead of how long they were held. */
  holds: boolean | number
  /** When the service last confirmed the keys: when the last answered request was sent, or as much later as the answer says. */
  heardAt: number
}

/** Opens a node of the machine and waits until it serves. */
async function openNode(machine: Machine): Promise<Keyring> {
  const { house, at, cacheDir } = machine
  const ask = fetchFrom(house.app)
  const keyring = openKeyring(
    {
      url: 'https://keyrail.invalid',
      secretKey: house.scene.live,
      project: house.scene.projectId,
      pollIntervalMs: 100,
      cacheDir,
      onError: () => {},
      async fetch(input, init) {
        const sentAt = at.monotonic
        if (machine.isCut) throw new TypeError('the way is cut off')
        // Held answers make the drill wait for real time to pass.
        const headers = new Headers(init?.headers)
        headers.delete('prefer')
        if (machine.holds !== false) headers.set('prefer', 'wait=1')
        const response = await ask(input, { ...init, headers })
        if (machine.isCut) throw new TypeError('the way is cut off')
        const { heldMs, ...answer } = await rewritten(response, machine)
        pass(machine, machine.slowMs)
        machine.heardAt = Math.min(sentAt + heldMs, at.monotonic)
        return new Response(answer.text, answer)
      },
    },
    {
      clock: { monotonic: () => at.monotonic, wall: () => at.wall },
      uptimeMs: () => at.uptime,
      random: Math.random,
    },
  )
  await keyring.ready()
  return keyring
}

/** An answer as the service gives it at its time, whose clock runs by itself here, and for how long it says it was held. */
async function rewritten(response: Response, { serviceAt, holds }: Machine) {
  const date = new Date(serviceAt)
  const { status } = response
  const headers = new Headers(response.headers)
  headers.set('date', date.toUTCString())
  const text = (await response.text())
    .replace(/(?<="generated_at":")[^"]*/, date.toISOString())
    .replace(/(?<="held_ms":)\d+/, said => (typeof holds === 'number' ? String(holds) : said))
  return { text, status, headers, heldMs: Number(/"held_ms":(\d+)/.exec(text)?.[1] ?? 0) }
}

function pass(machine: Machine, ms: number): void {
  const { at } = machine
  at.monotonic += ms
  at.wall += ms
  at.uptime += ms
  machine.serviceAt += ms
}

/** The last answer was held, and was on its way for 20 s in all. */
async function afterHeld(machine: Machine, holds: Machine['holds']): Promise<Keyring> {
  const keyring = await openNode(machine)
  Object.assign(machine, { holds, slowMs: 20_000 })
  const { heard } = polls(keyring)
  await until('the held answer has come', () => polls(keyring).heard > heard)
  Object.assign(machine, { holds: false, slowMs: 0 })
  await cutOff(machine, keyring)
  return keyring
}

const polls = (keyring: Keyring) => {
  const { snapshot, delta, unchanged, error } = keyring.stats().polls
  return { heard: snapshot + delta + unchanged, unchanged, error }
}

/** From here on no answer comes; requests under way have ended. */
async function cutOff(machine: Machine, keyring: Keyring): Promise<void> {
  machine.isCut = true
  const { error } = polls(keyring)
  await until('the node polls in vain', () => polls(keyring).error > error + 1)
}

/** Brings a node to its last confirmation, cut off from then on. */
type Situation = (machine: Machine, key: string) => Promise<Keyring>

const afterSnapshot: Situation = async machine => {
  const keyring = await openNode(machine)
  await cutOff(machine, keyring)
  return keyring
}

export const situations: Record<string, Situation> = {
  'after a snapshot': afterSnapshot,
  async 'after a change'(machine) {
    const keyring = await openNode(machine)
    pass(machine, 30_000)
    const { key } = await issue(machine.house)
    await until('the node knows the change', () => keyring.verify(key).valid)
    await cutOff(machine, keyring)
    return keyring
  },
  async 'after answers without a change'(machine) {
    const keyring = await openNode(machine)
    for (let times = 0; times < 5; times += 1) {
      pass(machine, 30_000)
      const { unchanged } = polls(keyring)
      await until('the node gets an answer without a change', () => polls(keyring).unchanged > unchanged + 1)
    }
    await cutOff(machine, keyring)
    return keyring
  },
  async 'after an answer that took 20 s'(machine) {
    const keyring = await openNode(machine)
    machine.slowMs = 20_000
    const { heard } = polls(keyring)
    await until('the slow answer has come', () => polls(keyring).heard > heard)
    machine.slowMs = 0
    await cutOff(machine, keyring)
    return keyring
  },
  'after an answer that was held': machine => afterHeld(machine, true),
  'after an answer that claims to have been held for a day': machine => afterHeld(machine, 86_400_000),
  async 'started anew from the disk'(machine, key) {
    const first = await openNode(machine)
    await cutOff(machine, first)
    await first.close()
    pass(machine, 10_000)
    // The clock of a process begins with it.
    machine.heardAt -= machine.at.monotonic - 40
    machine.at.monotonic = 40
    const keyring = await openNode(machine)
    if (!keyring.verify(key).valid) throw new Error('the node has not loaded its own snapshot')
    return keyring
  },
  async 'its clock set back an hour'(machine, key) {
    const keyring = await afterSnapshot(machine, key)
    machine.at.wall -= hourMs
    return keyring
  },
  async 'its clock set forward an hour'(machine, key) {
    const keyring = await afterSnapshot(machine, key)
    machine.at.wall += hourMs
    return keyring
  },
}

async function issue(house: FeedHouse): Promise<{ id: string; key: string }> {
  const { scene, ask } = house
  const body = { project_id: scene.projectId, tenant_id: scene.tenantId, env: 'live' }
  return (await ask('POST', '/v1/keys', { token: scene.live, body })).body
}

/** @returns the verdicts in each situation, and what contradicts the promise. */
export async function runStaleness({
  cycles,
  seed,
  signal,
  say = () => {},
}: {
  cycles: number
  seed: number
  signal?: AbortSignal
  say?: (line: string) => void
}) {
  const cluster = await startDrillCluster({ durable: false })
  const house = await openFeedHouse(cluster.connection)
  const random = seeded(seed)
  const broken: string[] = []
  const seen: Seen[] = Object.keys(situations).map(situation => ({ situation, verdicts: new Map() }))
  try {
    for (let cycle = 0; cycle < cycles && !signal?.aborted; cycle += 1) {
      const { key } = await issue(house)
      for (const { situation, verdicts } of seen) {
        const cacheDir = mkdtempSync(join(tmpdir(), `keyrail-p4-${randomBytes(4).toString('hex')}`))
        const monotonic = random.integer(1_000_000_000)
        const at = { monotonic, wall: house.now(), uptime: monotonic + random.integer(1_000_000_000) + 0.5 }
        const machine: Machine = {
          house,
          cacheDir,
          at,
          serviceAt: house.now(),
          isCut: false,
          slowMs: 0,
          holds: false,
          heardAt: 0,
        }
        const keyring = await (situations[situation] as Situation)(machine, key)
        try {
          for (const moment of moments) {
            const late = machine.heardAt + moment - at.monotonic
            // The slow answer has used up its first seconds on its way.
            if (late < 0) continue
            pass(machine, late)
            const { code } = keyring.verify(key)
            const expected = moment < ttlMs ? 'valid' : 'stale'
            const name = `${moment} ${code}`
            verdicts.set(name, (verdicts.get(name) ?? 0) + 1)
            if (code !== expected) broken.push(`${situation}: ${code} after ${moment} ms`)
          }
          machine.isCut = false
          await until('the node recovers', () => keyring.verify(key).valid).catch(() =>
            broken.push(`${situation}: not valid again after the reconnection`),
          )
        } finally {
          await keyring.close()
          rmSync(cacheDir, { recursive: true, force: true })
        }
      }
      say(`${cycle + 1} of ${cycles}, ${broken.length} broken`)
    }
    return { seen, broken, serverVersion: cluster.serverVersion }
  } finally {
    await house.close()
    await cluster.remove()
  }
}

import type pg from 'pg'
import type { Query } from '../../packages/server/test/people.ts'
import type { Scene } from '../../packages/server/test/vendor.ts'
import { type Api, openApi, type TimedAnswer } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import { makeDrillScene } from './scene.ts'
import { type DrilledService, startDrilledService } from './service.ts'

export type Ask = Api['ask']

/** Several processes of the service on one store, of which one may be down. */
export interface FleetStage {
  readonly serverVersion: string
  readonly scene: Scene
  readonly query: Query
  /** The running ones, in an order that rotates with each call, so that each case uses each of them. */
  living(): Ask[]
  /** SIGKILL, and waits until it has ended. */
  kill(at: number): Promise<void>
  restart(at: number): Promise<void>
}

const size = 3
/** Three pools of twenty would leave too few connections for their lanes. */
const env = { SERVICE_DATABASE_POOL: '5', SERVICE_PUBLIC_URL: 'http://keyrail.example' }

export async function onFleetStage<T>(work: (stage: FleetStage) => Promise<T>): Promise<T> {
  const cluster = await startDrillCluster({ durable: true, settings: { max_connections: 200 } })
  const fleet = new Fleet(cluster)
  try {
    return await work(await fleet.open())
  } finally {
    await fleet.close()
    await cluster.remove()
  }
}

interface Member {
  service: DrilledService
  api: Api
}

class Fleet {
  readonly #cluster: ScratchCluster
  readonly #members: (Member | null)[] = []
  #client: pg.Client | undefined
  #turn = 0

  constructor(cluster: ScratchCluster) {
    this.#cluster = cluster
  }

  async open(): Promise<FleetStage> {
    const client = await connectDirectly(this.#cluster)
    this.#client = client
    for (let at = 0; at < size; at++) this.#members.push(await this.#start())
    const [first] = this.#members
    return {
      serverVersion: this.#cluster.serverVersion,
      scene: await makeDrillScene((first as Member).api),
      query: async (text, values) => (await client.query(text, values)).rows,
      living: () => this.#living(),
      kill: async at => {
        const member = this.#members[at]
        this.#members[at] = null
        member?.api.close()
        await member?.service.kill()
      },
      restart: async at => {
        this.#members[at] = await this.#start()
      },
    }
  }

  async close(): Promise<void> {
    for (const member of this.#members) {
      member?.api.close()
      await member?.service.kill()
    }
    await this.#client?.end()
  }

  async #start(): Promise<Member> {
    const service = await startDrilledService(this.#cluster.connection, { env })
    return { service, api: openApi(service.url) }
  }

  #living(): Ask[] {
    const up = this.#members.filter(member => member !== null)
    this.#turn += 1
    return up.map((_, i) => (up[(i + this.#turn) % up.length] as Member).api.ask)
  }
}

/** @throws with the answer, when it is not the expected one. */
export async function expectStatus(asked: Promise<TimedAnswer>, status: number, what: string) {
  const answer = await asked
  if (answer.status !== status)
    throw new Broken(`${what}: answered ${answer.status} ${answer.body?.code ?? ''}, not ${status}`)
  return answer.body
}

/** A case with another result than promised. */
export class Broken extends Error {}

export function expectSo(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Broken(what)
}

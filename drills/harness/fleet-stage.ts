import type pg from 'pg'
import { makeScene, type Scene } from '../../packages/server/test/mutations.ts'
import type { Query } from '../../packages/server/test/people.ts'
import { type Api, openApi, plainly, type TimedAnswer } from './api.ts'
import { connectDirectly, type ScratchCluster, startDrillCluster } from './cluster.ts'
import { bootstrapToken, type DrilledService, startDrilledService } from './service.ts'

export type Ask = Api['ask']

/** Some processes of the service on one store, of which one may be away. */
export interface FleetStage {
  readonly serverVersion: string
  readonly scene: Scene
  readonly query: Query
  /** Those that are up, in an order that moves on with each call, so that each case meets each of them. */
  living(): Ask[]
  /** SIGKILL, and until it is gone. */
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
      scene: await makeScene(plainly((first as Member).api), bootstrapToken),
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

/** @throws with what was answered, when that is not what was expected. */
export async function expectStatus(asked: Promise<TimedAnswer>, status: number, what: string) {
  const answer = await asked
  if (answer.status !== status)
    throw new Broken(`${what}: answered ${answer.status} ${answer.body?.code ?? ''}, not ${status}`)
  return answer.body
}

/** A case that came out otherwise than promised. */
export class Broken extends Error {}

export function expectSo(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Broken(what)
}

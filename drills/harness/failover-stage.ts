import { createKeyring, type Keyring } from '../../packages/sdk/src/index.ts'
import type { AskApi } from '../../packages/server/test/mutations.ts'
import { type Pair, startPair } from '../../packages/server/test/standby.ts'
import { until } from '../../packages/server/test/until.ts'
import type { Scene } from '../../packages/server/test/vendor.ts'
import { type Api, openApi, plainly } from './api.ts'
import { makeDrillScene } from './scene.ts'
import { type DrilledService, startDrilledService } from './service.ts'

/** A policy version in an answer, with the times of `performance.now()`. */
export interface Given {
  readonly sentAt: number
  readonly answeredAt: number
  readonly version: number
}

/** A node, and the policy versions that it was given. */
interface FailoverNode {
  readonly name: string
  readonly keyring: Keyring
  readonly given: Given[]
}

/** A primary with a standby, two processes of the service on their address, and nodes that follow one process each. */
export interface FailoverStage {
  readonly pair: Pair
  readonly scene: Scene
  readonly nodes: readonly FailoverNode[]
  /** One for each process. */
  readonly asks: readonly AskApi[]
}

const processes = 2
const nodesInAll = 5
const env = {
  SERVICE_DATABASE_POOL: '5',
  // After a failover no revocation is acknowledged, so each repeated one waits for so long.
  SERVICE_REVOKE_WAIT_MS: '5000',
}

export async function onFailoverStage<T>(work: (stage: FailoverStage) => Promise<T>): Promise<T> {
  const pair = await startPair()
  const services: DrilledService[] = []
  const apis: Api[] = []
  const nodes: FailoverNode[] = []
  try {
    for (let at = 0; at < processes; at += 1) {
      const service = await startDrilledService(pair.connection, { env })
      services.push(service)
      apis.push(openApi(service.url))
    }
    const scene = await makeDrillScene(apis[0] as Api)
    for (let at = 0; at < nodesInAll; at += 1)
      nodes.push(openNode(`node-${at}`, scene, (services[at % processes] as DrilledService).url))
    await Promise.all(nodes.map(({ keyring }) => keyring.ready()))
    return await work({ pair, scene, nodes, asks: apis.map(plainly) })
  } finally {
    await Promise.all(nodes.map(({ keyring }) => keyring.close()))
    for (const api of apis) api.close()
    for (const service of services) await service.kill()
    await pair.remove()
  }
}

function openNode(name: string, { live, projectId }: Scene, url: string): FailoverNode {
  const given: Given[] = []
  const keyring = createKeyring({
    url,
    secretKey: live,
    project: projectId,
    node: name,
    pollIntervalMs: 200,
    // The service has no store for a while, which is the purpose of the drill.
    onError: () => {},
    fetch: async (input, init) => {
      const sentAt = performance.now()
      const answer = await fetch(input, init)
      if (answer.status !== 200) return answer
      const text = await answer.text()
      const { version } = JSON.parse(text)
      if (typeof version === 'number') given.push({ sentAt, answeredAt: performance.now(), version })
      return new Response(text, answer)
    },
  })
  return { name, keyring, given }
}

/** Repeats a request while a process looks for its database. */
export async function askPatiently(ask: AskApi, ...asked: Parameters<AskApi>): ReturnType<AskApi> {
  let heard = await ask(...asked)
  await until(async () => {
    if (heard.status === 503) heard = await ask(...asked)
    return heard.status !== 503
  }, `${asked[0]} ${asked[1]} is answered`)
  return heard
}

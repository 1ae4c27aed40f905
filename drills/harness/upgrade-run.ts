import { type Kind, type Load, startLoad } from '../../deploy/proxy-load.ts'
import { urlOf } from '../../packages/server/test/installation.ts'
import { type ScratchCluster, startScratchCluster } from '../../packages/server/test/scratch.ts'
import { until } from '../../packages/server/test/until.ts'
import { makeScene } from '../../packages/server/test/vendor.ts'
import { openApi, plainly } from './api.ts'
import type { DrillOptions } from './drill.ts'
import {
  checkOut,
  migrateWith,
  ownTree,
  type Previous,
  type Released,
  serveWith,
  type Tree,
} from './previous-release.ts'
import { bootstrapToken } from './service.ts'
import { type Person, planes, signingPlane, signUp } from './upgrade-planes.ts'

type Name = 'before' | 'this'

export interface Upgrade {
  /** Answers in each phase, by kind. */
  readonly phases: { name: string; counts: Record<Kind, number> }[]
  readonly broken: string[]
  readonly serverVersion: string
}

interface UpgradeOptions {
  cycles: number
  /** In each phase, every kind of request is answered at least this often. */
  answers?: number
}

/** Runs two releases on one database, forward and back, under load throughout. */
export async function runUpgrade(
  previous: Previous,
  {
    cycles,
    answers = 3,
    signal,
    say = () => {},
  }: UpgradeOptions & Partial<Pick<DrillOptions, 'signal' | 'say'>>,
): Promise<Upgrade> {
  const old = checkOut(previous.revision)
  try {
    const runs: Upgrade[] = []
    for (let cycle = 1; cycle <= cycles && !signal?.aborted; cycle += 1) {
      say(`cycle ${cycle} of ${cycles}`)
      runs.push(await runOnce(old, answers, cycle % 2 === 1 ? 'this' : 'before'))
    }
    const [first] = runs
    if (first === undefined) return { phases: [], broken: [], serverVersion: '' }
    return {
      ...first,
      phases: first.phases.map(({ name }, at) => ({
        name,
        counts: total(runs.map(run => run.phases[at]?.counts)),
      })),
      broken: runs.flatMap(({ broken }, at) => broken.map(line => `cycle ${at + 1}, ${line}`)),
    }
  } finally {
    old.remove()
  }
}

function total(all: (Record<Kind, number> | undefined)[]): Record<Kind, number> {
  const sum = { changes: 0, reads: 0, polls: 0, waits: 0 }
  for (const counts of all) for (const kind of Object.keys(sum) as Kind[]) sum[kind] += counts?.[kind] ?? 0
  return sum
}

/** @param firstToSign the release that makes the installation's first signing key. */
async function runOnce(old: Tree, answers: number, firstToSign: Name): Promise<Upgrade> {
  const cluster = await startScratchCluster({ settings: { max_connections: 200 } })
  const stage = new Stage(cluster, answers, firstToSign)
  try {
    await migrateWith(old, urlOf(cluster.connection))
    await stage.start('before', old)
    await stage.during('the release before alone', ['before'])
    // Its processes go on while the schema changes below them.
    await stage.during('the schema is migrated', ['before'], () =>
      migrateWith(ownTree, urlOf(cluster.connection)),
    )
    await stage.start('this', ownTree)
    await stage.during('both releases', ['before', 'this'])
    await stage.stop('before')
    await stage.during('this release alone', ['this'])
    await stage.start('before', old)
    await stage.during('the way back', ['this', 'before'])
    await stage.stop('this')
    await stage.during('back on the release before', ['before'])
    return { phases: stage.phases, broken: stage.broken, serverVersion: cluster.serverVersion }
  } finally {
    await stage.close()
    await cluster.remove()
  }
}

class Stage {
  readonly phases: Upgrade['phases'] = []
  readonly broken: string[] = []
  readonly #url: string
  readonly #answers: number
  readonly #running = new Map<Name, { service: Released; api: ReturnType<typeof openApi> }>()
  readonly #firstToSign: Name
  #scene: Awaited<ReturnType<typeof makeScene>> | undefined
  #person: Person | undefined

  constructor(cluster: ScratchCluster, answers: number, firstToSign: Name) {
    this.#url = urlOf(cluster.connection)
    this.#answers = answers
    this.#firstToSign = firstToSign
  }

  async start(name: Name, tree: Tree): Promise<void> {
    const service = await serveWith(tree, this.#url)
    const api = openApi(service.url)
    this.#running.set(name, { service, api })
    this.#scene ??= await makeScene(plainly(api), bootstrapToken)
    this.#person ??= await signUp(plainly(api))
  }

  async stop(name: Name): Promise<void> {
    const one = this.#running.get(name)
    this.#running.delete(name)
    one?.api.close()
    await one?.service.stop()
  }

  /** Load through each of these while some work is done, until each has answered often enough. */
  async during(
    phase: string,
    names: readonly Name[],
    work: () => Promise<void> = async () => {},
  ): Promise<void> {
    const scene = this.#scene
    if (scene === undefined) throw new Error('no process has started')
    const asks = names.flatMap(name => {
      const one = this.#running.get(name)
      return one === undefined ? [] : [{ name, ask: plainly(one.api) }]
    })
    // Always the same two nodes, each through the process that there is for it.
    const loads: { name: Name; load: Load }[] = ['first', 'second'].flatMap((node, i) => {
      const through = asks[i % asks.length]
      return through === undefined ? [] : [{ name: through.name, load: startLoad(through.ask, scene, node) }]
    })
    await work()
    await until(
      () => loads.every(({ load }) => Math.min(...Object.values(load.counts)) >= this.#answers),
      `${phase}: every kind of request is answered`,
    )
    await Promise.all(loads.map(({ load }) => load.quieten()))
    for (const { name, load } of loads)
      this.broken.push(...(await load.end()).map(line => `${phase}, ${name}: ${line}`))
    this.phases.push({ name: phase, counts: total(loads.map(({ load }) => load.counts)) })
    await this.#cross(phase, asks)
  }

  /** What one process writes, signs or seals is what the other one reads. */
  async #cross(phase: string, asks: { name: Name; ask: ReturnType<typeof plainly> }[]): Promise<void> {
    const scene = this.#scene
    const person = this.#person
    if (scene === undefined || person === undefined) return
    const isFirst = this.phases.length === 1
    for (const writer of asks) {
      for (const reader of asks) {
        for (const [plane, meet] of Object.entries(planes)) {
          if (isFirst && plane === signingPlane && this.#firstToSign === 'this') continue
          await meet({ scene, person, writer: writer.ask, reader: reader.ask }).catch(error =>
            this.broken.push(`${phase}, ${plane}, from ${writer.name} to ${reader.name}: ${error.message}`),
          )
        }
      }
    }
  }

  async close(): Promise<void> {
    for (const name of [...this.#running.keys()]) await this.stop(name)
  }
}

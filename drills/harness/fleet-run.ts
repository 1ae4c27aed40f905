import { fleetCases } from './fleet-cases.ts'
import { Broken, expectSo, type FleetStage, onFleetStage } from './fleet-stage.ts'

export interface FleetFigures {
  /** How often each case was tried, and how often with a process away. */
  tried: Map<string, { whole: number; away: number }>
  kills: number
  broken: string[]
  serverVersion: string
}

export interface FleetOptions {
  cycles: number
  signal?: AbortSignal
  say?: (line: string) => void
}

/**
 * In each cycle one of three processes is killed in the middle of the cases. They go on with the two that are left
 * while it restarts, and then with all three.
 */
export function runFleet({ cycles, signal, say = () => {} }: FleetOptions): Promise<FleetFigures> {
  return onFleetStage(async stage => {
    const figures: FleetFigures = {
      tried: new Map(),
      kills: 0,
      broken: [],
      serverVersion: stage.serverVersion,
    }
    for (let cycle = 0; cycle < cycles && !signal?.aborted; cycle++) {
      const victim = cycle % 3
      await tryAll(stage, figures, 'whole')
      await stage.kill(victim)
      figures.kills += 1
      const back = stage.restart(victim)
      await tryAll(stage, figures, 'away')
      await back
      say(`cycle ${cycle + 1} of ${cycles}, ${figures.broken.length} broken`)
    }
    await tryAll(stage, figures, 'whole')
    await assertChain(stage, figures)
    return figures
  })
}

async function tryAll(stage: FleetStage, figures: FleetFigures, when: 'whole' | 'away'): Promise<void> {
  for (const [name, tryCase] of Object.entries(fleetCases)) {
    const all = stage.living()
    const [here, there] = all
    if (here === undefined || there === undefined) throw new Error('two processes are up at any time')
    const counts = figures.tried.get(name) ?? { whole: 0, away: 0 }
    counts[when] += 1
    figures.tried.set(name, counts)
    try {
      await tryCase(stage, here, there, all)
    } catch (error) {
      if (!(error instanceof Broken)) throw error
      figures.broken.push(`${name}, ${when === 'whole' ? 'all up' : 'one away'}: ${error.message}`)
    }
  }
}

async function assertChain(stage: FleetStage, { broken }: FleetFigures): Promise<void> {
  try {
    for (const ask of stage.living()) {
      const { body } = await ask('GET', '/v1/audit_logs/chain', { token: stage.scene.live })
      expectSo(body.valid === true, `the chain is broken: ${body.reason}`)
    }
  } catch (error) {
    if (!(error instanceof Broken)) throw error
    broken.push(error.message)
  }
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Arm, type Bench, BenchFault, type Goal } from './harness/bench.ts'
import { type Asked, beyondLimits, type Loss, passedByModel } from './service/prepaid-model.ts'
import { type NodeProcess, startNode } from './service/prepaid-process.ts'
import { type Event, readRecords } from './service/prepaid-records.ts'
import {
  answersMs,
  hotName,
  killedScenario,
  type Scenario,
  sharedScenarios,
  WINDOW_MS,
} from './service/prepaid-scenarios.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/**
 * Limits whose units are charged ahead (`prepay`), in two processes against one service: how many calls a hot key costs,
 * and what passes compared with an exact limiter that sees the same requests at the same times. Scenarios run one
 * after another, each with unused keys, over whole windows and from processes that are warm. Two more processes are killed,
 * one in each window, and replaced.
 */
const WARM_MS = 1_000
/** In a window, when a process is killed. */
const KILLED_AFTER = 0.4

const fewCalls = { compare: 'value', direction: 'at most', floor: 0.05, moonshot: 0.05 } as const

export const bench: Bench = {
  name: 'G29',
  title: 'Limits charged ahead in two processes: calls, and what passes, against an exact model',
  goal: [
    { metric: 'over-admitted', compare: 'value', direction: 'at most', floor: 0, moonshot: 0 },
    { metric: 'admitted, worst', compare: 'value', direction: 'at least', floor: 0.995, moonshot: 0.995 },
    ...answersMs.map((ms): Goal => ({ ...fewCalls, metric: `calls a request, answers of ${ms} ms` })),
  ],
  async arms(run) {
    const service = await run.use(startKeyrail(await run.use(migratedPostgres())))
    const { url } = service
    const { token, projectId } = await makeVendor(url)
    const folder = await mkdtemp(join(tmpdir(), 'prepaid-'))
    await run.use({ close: () => rm(folder, { recursive: true, force: true }) })
    let started = 0
    const start = (scenarios: Scenario[]) =>
      run.use(
        startNode({
          ...{ url, token, projectId, scenarios, warmMs: WARM_MS },
          path: join(folder, String(started++)),
        }),
      )

    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ round, seconds }) {
        const windows = Math.max(2, Math.round((seconds * 1_000) / WINDOW_MS))
        // The warm-up is for the service: processes of a later turn are new.
        const shared = sharedScenarios().slice(0, round === 0 ? 1 : undefined)
        const killed = killedScenario()
        // One after another: processes that start together are slow to warm up.
        const lasting = [await start(shared), await start(shared)]
        const mortal: NodeProcess[] = []
        while (mortal.length < windows + 2) mortal.push(await start([killed]))
        const from = (Math.floor(Date.now() / WINDOW_MS) + 1) * WINDOW_MS
        const turnOf = (i: number) => {
          const begin = from + i * windows * WINDOW_MS
          return { from: begin, until: begin + windows * WINDOW_MS }
        }
        const [, kills] = await Promise.all([
          Promise.all(lasting.map(node => node.run(turnOf(0)))),
          runMortal(mortal, turnOf(shared.length)),
        ])
        const events = lasting.flatMap(({ path }) => readRecords(path))
        const values: Record<string, number> = {}
        for (const [i, scenario] of shared.entries()) {
          const own = events.filter(event => event.scenario === i)
          const losses = own.filter(({ kind }) => kind === 'lost').map(lossOf)
          Object.assign(values, judge(scenario, own, losses))
        }
        const ofMortal = mortal.map(({ path }) => readRecords(path))
        const losses = kills.map((at, i) => leftAt(at, ofMortal[i] ?? []))
        Object.assign(values, judge(killed, ofMortal.flat(), losses))
        const all = Object.entries(values)
        const each = (what: string) =>
          all.flatMap(([name, value]) => (name.startsWith(`${what}, `) ? [value] : []))
        return {
          values: {
            ...Object.fromEntries(
              answersMs.map(ms => [
                `calls a request, answers of ${ms} ms`,
                values[`calls, ${hotName(ms)}`] ?? Number.NaN,
              ]),
            ),
            'over-admitted': each('over').reduce((sum, one) => sum + one),
            'admitted, worst': Math.min(...each('admitted')),
            ...values,
          },
        }
      },
    }
    const control: Arm = {
      name: 'a call for each request',
      role: 'control',
      measure: async () => ({
        values: Object.fromEntries(answersMs.map(ms => [`calls a request, answers of ${ms} ms`, 1])),
      }),
    }
    run.note(`two processes, windows of ${WINDOW_MS} ms; "20 nodes" are ten limiters in each`)
    run.note(
      'lost answers: 5 % of them; the model loses the units of lost answers and those that killed nodes held',
    )
    return [ours, control]
  },
}

/** Two nodes send requests; in each window one of them is killed, and the next takes its place. @returns when. */
async function runMortal(nodes: readonly NodeProcess[], { from, until }: { from: number; until: number }) {
  const kills: number[] = []
  const runs = nodes.slice(0, 2).map(node => node.run({ from, until }))
  for (const [i, next] of nodes.slice(2).entries()) {
    await sleep(from + (i + KILLED_AFTER) * WINDOW_MS - Date.now())
    nodes[i]?.kill()
    await runs[i]
    const now = Date.now()
    kills.push(now)
    runs.push(next.run({ from: now, until }))
  }
  await Promise.all(runs)
  return kills
}

const lossOf = ({ key, answeredAt: at, units }: Event): Loss => ({ key, at, units })

/** What a node held when it was killed: what it charged in that window and no request had used. */
function leftAt(at: number, events: readonly Event[]): Loss {
  const start = Math.floor(at / WINDOW_MS) * WINDOW_MS
  const own = events.filter(({ answeredAt }) => answeredAt >= start)
  const used = own.filter(({ kind }) => kind === 'passed').length
  return { key: 0, at, units: Math.max(0, own.reduce((sum, { units }) => sum + units, 0) - used) }
}

function judge(
  { name, rules }: Scenario,
  events: readonly Event[],
  losses: readonly Loss[],
): Record<string, number> {
  const isRequest = ({ kind }: Event) => kind === 'passed' || kind === 'refused'
  const requests = events
    .filter(isRequest)
    .map((event): Asked => ({ ...event, passed: event.kind === 'passed' }))
  if (requests.length === 0) throw new BenchFault(`${name}: no request was recorded`)
  const passed = requests.filter(each => each.passed).length
  return {
    [`calls, ${name}`]: (events.length - requests.length) / requests.length,
    [`over, ${name}`]: beyondLimits(rules, requests),
    [`admitted, ${name}`]: passed / passedByModel(rules, requests, losses),
  }
}

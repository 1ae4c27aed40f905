import type { Drill } from './harness/drill.ts'
import { type OutageResult, runOutage } from './harness/outage-run.ts'
import { outages } from './harness/outages.ts'

const options = { clients: 16, outMs: 6_000, limits: { answerMs: 2_000, recoveryMs: 2_000 } }

export const drill: Drill = {
  name: 'p15',
  title: 'The store fails, the service answers',
  promise:
    'While the store is gone, slow or full, every request is answered within 2 s, with 503 if necessary; 2 s after its return all succeed.',
  async run({ cycles = 1, seed, signal, say }) {
    const rows: string[][] = []
    const broken: string[] = []
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      for (const name of Object.keys(outages)) {
        if (signal.aborted) break
        say(`${name}: ${broken.length} broken`)
        const result = await runOutage(name, { ...options, seed: seed + cycle })
        rows.push(rowOf(name, result))
        broken.push(...result.broken.map(line => `${name}: ${line}`))
      }
    }
    return {
      heading: [
        'outage',
        'succeeded',
        '503',
        'slowest answer',
        '/readyz',
        '/healthz',
        'recovered in',
        'acknowledged',
        'lost or doubled',
      ],
      align: ['left', 'right', 'right', 'right', 'left', 'left', 'right', 'right', 'right'],
      rows,
      notes: [
        `${options.clients} clients that mutate, one that reads; ${options.outMs / 1000} s each; Postgres and the service on one machine`,
        'succeeded and 503 count requests that were sent and answered during the outage; the slowest answer is that of the whole run',
        'a deletion that succeeds may take longer than 2 s: it revokes every key of a tenant or project at once',
      ],
      broken,
    }
  },
}

function rowOf(name: string, result: OutageResult): string[] {
  const { succeeded, unavailable, slowestMs, readiness, health, recoveredMs, acknowledged, lost } = result
  const ms = (value: number) => `${Math.round(value)} ms`
  return [
    name,
    String(succeeded),
    String(unavailable),
    ms(slowestMs),
    readiness,
    health,
    ms(recoveredMs),
    String(acknowledged),
    String(lost),
  ]
}

import type { Drill } from './harness/drill.ts'
import { runSeeds } from './harness/feed-lanes.ts'
import { mutationKinds } from './harness/feed-mutations.ts'
import type { Tally } from './harness/feed-seed.ts'

const cyclesDefault = 10_000
const commands = 40

export const drill: Drill = {
  name: 'p10',
  title: 'After a poll, a node holds the service’s policy',
  promise:
    'Whatever happens and however it polls, after a poll a node, also one of an earlier release, holds exactly the keys that it may judge at its version, each with its current contents, and refuses those of suspended tenants and those from other networks than theirs.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const tally: Tally = new Map()
    const started = performance.now()
    const { ended, broken, serverVersion } = await runSeeds({
      first: seed,
      cycles,
      signal,
      say,
      commands,
      tally,
    })
    const seconds = Math.round((performance.now() - started) / 1_000)
    return {
      heading: ['what happened', 'times'],
      align: ['left', 'right'],
      rows: inOrder(tally),
      notes: [
        `${ended} seeds from ${seed} on, ${commands} commands each, Postgres ${serverVersion}, ${seconds} s`,
        'each broken line names its seed; --seed N --cycles 1 repeats it',
      ],
      broken,
    }
  },
}

/** Mutations, then actions of nodes, then results of their polls. */
function inOrder(tally: Tally): string[][] {
  const rank = (name: string) =>
    name.startsWith('→')
      ? 2
      : (mutationKinds as string[]).includes(name) || name === 'refused mutation'
        ? 0
        : 1
  return [...tally]
    .filter(([name]) => name !== 'mutation')
    .toSorted(([a, m], [b, n]) => rank(a) - rank(b) || n - m)
    .map(([name, times]) => [name, String(times)])
}

import type { Drill, Outcome } from './harness/drill.ts'
import { findPrevious, type Previous } from './harness/previous-release.ts'
import { runUpgrade } from './harness/upgrade-run.ts'

const cyclesDefault = 3

/** Without a release before there is nothing to run, and nothing is kept. */
export const notRun: Outcome = {
  heading: ['phase', 'changes', 'reads', 'held polls', 'revocations'],
  rows: [],
  notes: [],
  broken: [],
  undecided: ['not run: this copy has no history of git, from which the release before could be taken'],
}

/** The drill on a given release before. */
export async function upgradeFrom(
  previous: Previous | null,
  { cycles = cyclesDefault, signal, say }: Parameters<Drill['run']>[0],
  answers?: number,
): Promise<Outcome> {
  if (previous === null) return notRun
  const { phases, broken, serverVersion } = await runUpgrade(previous, {
    cycles,
    signal,
    say,
    ...(answers !== undefined && { answers }),
  })
  return {
    heading: notRun.heading,
    align: ['left', 'right', 'right', 'right', 'right'],
    rows: phases.map(({ name, counts: { changes, reads, polls, waits } }) => [
      name,
      ...[changes, reads, polls, waits].map(String),
    ]),
    notes: [
      `the release before: ${previous.revision}, ${previous.reason}`,
      `Postgres ${serverVersion}; the chain verifies through each process after each phase`,
    ],
    broken,
  }
}

export const drill: Drill = {
  name: 'p23',
  title: 'Two releases on one database',
  promise:
    'The release before and this one work side by side on the schema of this one, forward and back: no request fails while it is migrated or afterwards, and each reads what the other wrote, signed and sealed, whichever made the first signing key.',
  run: options => upgradeFrom(findPrevious(), options),
}

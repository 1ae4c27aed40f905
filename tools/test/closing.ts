import { finalResults, unsteadyMax } from './judge.ts'
import type { Quarantined } from './quarantine.ts'
import type { RunResults } from './run.ts'

export interface ClosingFacts extends RunResults {
  readonly quarantine: readonly Quarantined[]
  /** What is wrong beside the results of tests, such as an old entry of the quarantine. */
  readonly faults: readonly string[]
  readonly postgresVersion: string
  readonly postgresCpuSeconds: number
  readonly seconds: number
  readonly seed: number
}

const namesMax = 40
const seconds = (value: number) => `${value.toFixed(1).padStart(7)} s`

/** The last lines of a run. The very last one counts tests. */
export function closingLines(facts: ClosingFacts): string[] {
  const { results, unsteady, failed, notBegun, quarantine, faults } = facts
  const dearest = results.toSorted((a, b) => b.cpuSeconds - a.cpuSeconds).slice(0, 10)
  const looks = [...results, ...facts.second.values()]
  const cpuSeconds = looks.reduce((sum, one) => sum + one.cpuSeconds, 0)
  const final = finalResults(results, facts)
  return [
    'dearest files, in seconds of processor:',
    ...dearest.map(one => `${seconds(one.cpuSeconds)}  ${one.file}`),
    `processor: tests ${cpuSeconds.toFixed(0)} s, Postgres ${facts.postgresCpuSeconds.toFixed(0)} s; in ${facts.seconds.toFixed(0)} s of time, seed ${facts.seed}, Postgres ${facts.postgresVersion}`,
    ...quarantine.map(({ file, test, since }) => `quarantined since ${since}: ${file} "${test}"`),
    ...unsteady.map(({ first }) => `unsteady, passed when it ran alone: ${first.file}: ${whatFailed(first)}`),
    ...(notBegun.length > 0 ? [`not begun: ${notBegun.length} files`] : []),
    ...notBegun.slice(0, namesMax).map(file => `  ${file}`),
    ...failed.map(one => `failed: ${one.file}: ${whatFailed(one)}`),
    ...faults.map(fault => `failed: ${fault}`),
    ...(tooUnsteady(facts) ? [`failed: ${unsteady.length} unsteady files, over ${unsteadyMax}`] : []),
    `${count(final.map(one => one.passed))} passed, ${countFailed(facts, count(final.map(one => one.failed)))} failed`,
  ]
}

const whatFailed = ({ failed, faults }: RunResults['results'][number]): string =>
  [...failed.map(name => `"${name}"`), ...faults].join(', ')

const count = (lists: readonly (readonly string[])[]): number =>
  lists.reduce((sum, list) => sum + list.length, 0)

/** A fault of a file or of the run counts as a failed test. */
const countFailed = ({ failed, faults, ...facts }: ClosingFacts, tests: number): number =>
  tests + count(failed.map(one => one.faults)) + faults.length + (tooUnsteady(facts) ? 1 : 0)

const tooUnsteady = ({ unsteady }: Pick<RunResults, 'unsteady'>) => unsteady.length > unsteadyMax

/** Whether a run is green: something ran, or its minutes were over before, and all that counts passed. */
export const isGreen = (facts: ClosingFacts): boolean =>
  facts.results.length + facts.notBegun.length > 0 &&
  facts.failed.length + facts.faults.length === 0 &&
  !tooUnsteady(facts)

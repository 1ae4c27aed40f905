import type { Arm } from './bench.ts'
import type { Machine } from './machine.ts'
import type { Series } from './rounds.ts'
import { median } from './statistics.ts'
import { type Align, formatNumber, formatShare, formatTable } from './table.ts'
import { CONTROL_SPREAD_MAX, type Comparison, STEAL_MAX, type Verdict } from './verdict.ts'

/** All results of a run, as `--json` prints them. Shares are 0 to 1, times seconds. */
export type Report = {
  name: string
  title: string
  verdict: Verdict
  /** Why the figures should not be believed; with `--quick` the verdict is kept all the same. */
  reasons: readonly string[]
  quick: boolean
  rounds: number
  seconds: number
  warmUpSeconds: number
  comparisons: readonly Comparison[]
  arms: readonly { name: string; role: Arm['role']; medians: Record<string, number> }[]
  /** Every figure of every round. */
  series: Series
  controlSpread: number
  /** Null where the machine does not report it. */
  steal: number | null
  machine: Machine
  notes: readonly string[]
}

export function mediansOf(arms: readonly Arm[], series: Series): Report['arms'] {
  return arms.map(({ name, role }) => {
    const figures = Object.entries(series[name] ?? {})
    return {
      name,
      role,
      medians: Object.fromEntries(figures.map(([metric, values]) => [metric, median(values)])),
    }
  })
}

/** The report for people: one table, and the notes that belong to it. */
export function formatReport(report: Report): string {
  const { name, title, rounds, seconds, warmUpSeconds, reasons, verdict } = report
  const note = report.quick ? ' (quick: indicative only)' : ''
  return [
    `${name}  ${title}`,
    `${rounds} rounds of ${seconds} s an arm after ${warmUpSeconds} s of warm-up, order A B B A${note}`,
    '',
    comparisonTable(report),
    '',
    stillness(report),
    machineLine(report.machine),
    ...report.notes,
    ...reasons.map(reason => `doubt: ${reason}`),
    `verdict: ${verdict}`,
  ].join('\n')
}

function comparisonTable({ arms, comparisons }: Report): string {
  const subject = arms.find(({ role }) => role === 'subject')?.name ?? 'subject'
  const heading = [
    'metric',
    subject,
    'against',
    'its median',
    'compared',
    '95 % interval',
    'floor',
    'moonshot',
    'verdict',
  ]
  const align: Align[] = ['left', 'right', 'left', 'right', 'right', 'right', 'right', 'right', 'left']
  return formatTable(heading, comparisons.map(comparisonRow), align)
}

function comparisonRow(line: Comparison): string[] {
  const { metric, against, compare, goal, interval } = line
  const show = (value: number) => {
    if (compare === 'ratio') return `${formatNumber(value)}x`
    return compare === 'difference' && value > 0 ? `+${formatNumber(value)}` : formatNumber(value)
  }
  const bound = (value: number | null | undefined) =>
    goal && typeof value === 'number' ? `${goal.direction === 'at least' ? '>=' : '<='} ${show(value)}` : '-'
  return [
    metric,
    formatNumber(line.subjectMedian),
    against,
    line.againstMedian === null ? '-' : formatNumber(line.againstMedian),
    show(line.median),
    `${show(interval.low)} to ${show(interval.high)}`,
    bound(goal?.floor),
    bound(goal?.moonshot),
    goal?.verdict ?? '-',
  ]
}

function stillness({ controlSpread, steal }: Report): string {
  const stolen = steal === null ? 'unknown' : formatShare(steal)
  return (
    `control spread ${formatShare(controlSpread)} (limit ${formatShare(CONTROL_SPREAD_MAX)}), ` +
    `steal ${stolen} (limit ${formatShare(STEAL_MAX)})`
  )
}

function machineLine({ node, cpu, cpuCount, pinned, loadAverage, fsync }: Machine): string {
  const place = fsync
    ? `${fsync.directory}${fsync.inMemory ? ', IN MEMORY: commits are not durable' : ''}`
    : ''
  return [
    `node ${node}`,
    `${cpuCount} x ${cpu}`,
    pinned ? 'server and load pinned' : 'NOT pinned',
    `load average ${loadAverage.toFixed(2)}`,
    fsync ? `fsync ${formatNumber(fsync.perSecond)}/s (${place})` : 'fsync unknown (no pg_test_fsync)',
  ].join(', ')
}

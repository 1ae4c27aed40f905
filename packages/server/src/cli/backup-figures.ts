import { replaceOwnFile } from '../platform/own-files.ts'

/** What a monitor needs to know about repeated backups. Times are ms since 1970; null: never. */
export interface BackupFigures {
  lastSuccessAt: number | null
  lastCheckedAt: number | null
  failures: number
  everyMs: number
}

/** In Prometheus' text format, as the textfile collector of its node exporter reads it. */
export function renderFigures({ lastSuccessAt, lastCheckedAt, failures, everyMs }: BackupFigures): string {
  const seconds = (at: number | null) => Math.floor((at ?? 0) / 1000)
  return [
    gauge(
      'last_success_timestamp_seconds',
      'When the last backup was written; 0: never.',
      seconds(lastSuccessAt),
    ),
    gauge(
      'last_checked_timestamp_seconds',
      'When the last backup passed its check; 0: never.',
      seconds(lastCheckedAt),
    ),
    gauge('interval_seconds', 'How often a backup is made.', everyMs / 1000),
    metric('failures_total', 'counter', 'Backups that failed or were not checked since the start.', failures),
  ].join('')
}

/** The file appears with all of its text or not at all, and everybody may read it. */
export const writeFigures = (path: string, figures: BackupFigures): void =>
  replaceOwnFile(path, renderFigures(figures), 0o644)

const gauge = (name: string, help: string, value: number) => metric(name, 'gauge', help, value)

const metric = (name: string, type: string, help: string, value: number) =>
  `# HELP keyrail_backup_${name} ${help}\n# TYPE keyrail_backup_${name} ${type}\nkeyrail_backup_${name} ${value}\n`

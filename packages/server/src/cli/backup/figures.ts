import { randomBytes } from 'node:crypto'
import type { Config } from '../../config.ts'
import { replaceOwnFile } from '../../platform/files/own-files.ts'
import { serveMetrics } from '../../platform/observe/metrics-server.ts'
import { CommandFailed, explain } from '../failure.ts'
import { warn } from '../output.ts'

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

/**
 * Serves the figures as the service does its metrics, on the same address.
 * @throws {CommandFailed} if the port cannot be opened.
 */
export async function serveFigures(
  config: Pick<Config, 'host' | 'publicUrl'>,
  port: number,
  figures: BackupFigures,
): Promise<void> {
  try {
    await serveMetrics({
      host: config.host,
      port,
      metrics: { text: async () => renderFigures(figures) },
      log: { error: ({ err }: { err: unknown }) => warn(explain(err)) },
      randomBytes,
      config,
    })
  } catch (error) {
    throw new CommandFailed(`${config.host}:${port} cannot be opened for metrics: ${explain(error)}`, {
      cause: error,
    })
  }
}

const gauge = (name: string, help: string, value: number) => metric(name, 'gauge', help, value)

const metric = (name: string, type: string, help: string, value: number) =>
  `# HELP keyrail_backup_${name} ${help}\n# TYPE keyrail_backup_${name} ${type}\nkeyrail_backup_${name} ${value}\n`

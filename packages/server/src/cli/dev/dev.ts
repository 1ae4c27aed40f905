/** `keyrail dev`: a service to try, with the `sample.ts` that a developer copies. */

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { findPlace } from '../../platform/db/embedded/directory.ts'
import { settingsFrom } from '../settings.ts'

export function addDevCommand(program: Command): void {
  program
    .command('dev')
    .summary('start a throw-away service with a project, tenants and keys')
    .description(
      'Starts a separate service for development, with a workspace, a project, three tenants and a key for each.\n' +
        'It prints everything that an API needs. Ctrl-C or SIGTERM stops it and deletes everything: the\n' +
        'service, its Postgres and its data.',
    )
    .option('--port <port>', 'the port on 127.0.0.1; 0 chooses a free one', '0')
    .addHelpText(
      'after',
      '\nIt ignores the settings in the environment, and does not touch your database or data directory.',
    )
    .action(async ({ port }: { port: string }) => {
      const [{ serve }, { printSample }] = await Promise.all([
        import('../serve/run-service.ts'),
        import('./sample.ts'),
      ])
      // Until the service listens for signals, nothing waits here, and a signal must not end this process.
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
      const folder = mkdtempSync(join(tmpdir(), 'keyrail-dev-'))
      const dataDir = join(folder, 'data')
      try {
        // As root, Postgres runs under an account that must reach the folder; the secret files protect
        // themselves.
        chmodSync(folder, 0o755)
        const env = { SERVICE_PORT: port, SERVICE_DATA_DIR: dataDir, SERVICE_LOG_LEVEL: 'error' }
        process.exitCode = await serve(settingsFrom(env).read(), printSample)
      } finally {
        const place = findPlace(dataDir)
        for (const made of [place?.base ?? dataDir, folder])
          rmSync(made, { recursive: true, force: true, maxRetries: 5 })
      }
      // An interrupted step may have left something open that would keep the process alive.
      process.exit()
    })
}

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { findPlace } from '../platform/db/embedded/directory.ts'
import { settingsFrom } from './settings.ts'

export function addDevCommand(program: Command): void {
  program
    .command('dev')
    .summary('start a throw-away service with a project, tenants and keys')
    .description(
      'Starts a service of its own for development, with a workspace, a project, three tenants and a key for each.\n' +
        'Everything that an API needs is printed to copy. Ctrl-C or SIGTERM ends it, and all of it is gone: the\n' +
        'service, its Postgres and its data.',
    )
    .option('--port <port>', 'where it listens on 127.0.0.1; 0 takes a free port', '0')
    .addHelpText(
      'after',
      '\nNo setting of the environment reaches it: neither your database nor your data directory is touched.',
    )
    .action(async ({ port }: { port: string }) => {
      const [{ serve }, { printSample }] = await Promise.all([
        import('./run-service.ts'),
        import('./dev-sample.ts'),
      ])
      // From here to where the service listens for signals nothing waits, and a signal meanwhile must not end us.
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
      const folder = mkdtempSync(join(tmpdir(), 'keyrail-dev-'))
      const dataDir = join(folder, 'data')
      try {
        // As root, Postgres runs under an account that has to get there; the secrets in it are closed by themselves.
        chmodSync(folder, 0o755)
        const env = { SERVICE_PORT: port, SERVICE_DATA_DIR: dataDir, SERVICE_LOG_LEVEL: 'error' }
        process.exitCode = await serve(settingsFrom(env).read(), printSample)
      } finally {
        const place = findPlace(dataDir)
        for (const made of [place?.base ?? dataDir, folder])
          rmSync(made, { recursive: true, force: true, maxRetries: 5 })
      }
      // Whatever a step that was broken off has left open must not keep us.
      process.exit()
    })
}

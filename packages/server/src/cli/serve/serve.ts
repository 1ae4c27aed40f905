import type { Command } from 'commander'
import type { Settings } from '../settings.ts'

export function addServeCommand(program: Command, settings: Settings): void {
  program
    .command('serve')
    .summary('start the service (this is npm start)')
    .description(
      'Starts the service: the embedded Postgres unless DATABASE_URL names another, then the newest schema, then\n' +
        'the API. It runs in the foreground and logs to standard output, one JSON object per line.\n\n' +
        'Ctrl-C or SIGTERM lets requests end, for at most 25 s, then stops Postgres. A second one cuts them off.\n' +
        'SERVICE_DRAIN_DELAY_S keeps it serving for a while first, with /readyz at 503.\n\n' +
        'SERVICE_PROCESSES runs several processes on the port; SIGHUP then replaces them one after the other.',
    )
    .addHelpText(
      'after',
      '\nSettings come from the environment, for example:\n' +
        '  SERVICE_PORT=9000 keyrail serve\n' +
        '  DATABASE_URL=postgres://keyrail@db.internal/keyrail keyrail serve\n' +
        'keyrail doctor checks them.',
    )
    .action(async () => {
      const config = settings.read()
      // The service takes most of a second to load, which no other command should wait for.
      const { serve } = await import('./run-service.ts')
      process.exitCode = await serve(config, undefined, () => settings.read())
      // An interrupted step may have left something open that would keep the process alive.
      process.exit()
    })
}

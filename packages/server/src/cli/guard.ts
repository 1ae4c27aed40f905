import { join } from 'node:path'
import type { Command } from 'commander'
import { checkout } from '../platform/host/reach.ts'

/** `keyrail guard`: runs the guard of the checkout. It reads its own settings, and none of the service. */

type Environment = Readonly<Record<string, string | undefined>>

interface GuardModule {
  runGuard(args: readonly string[], env: Environment): Promise<number>
}

const file = 'packages/guard/src/command.ts'

export function addGuardCommand(program: Command, env: Environment): void {
  program
    .command('guard')
    .summary('verify keys beside a proxy, in memory')
    .description(
      'Follows a Keyrail service, and answers nginx, HAProxy, Caddy, Traefik, Envoy and programs. It runs beside your\n' +
        'proxy, needs no database, and takes GUARD_* and KEYRAIL_* from the environment.',
    )
    .option('--settings', 'print its settings')
    .action(async ({ settings = false }: { settings?: boolean }) => {
      const { runGuard } = await load()
      process.exit(await runGuard(settings ? ['--help'] : [], env))
    })
}

/** By its path, because the service depends on no package that follows it. */
async function load(): Promise<GuardModule> {
  try {
    return await import(join(checkout, file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error('This installation has no guard: take its archive or its image, as docs/guard.md says')
  }
}

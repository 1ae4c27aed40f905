import type { Command } from 'commander'
import { raisePolicies } from '../policy/raise.ts'
import { openDatabase, requireSchema, withClient } from './database.ts'
import { CommandFailed } from './failure.ts'
import { print, printJson } from './output.ts'
import { withProgress } from './progress.ts'
import type { Settings } from './settings.ts'

interface Flags {
  json?: true
}

export function addPolicyCommand(program: Command, settings: Settings): void {
  const policy = program
    .command('policy')
    .summary('versions of the policy that nodes compare')
    .description(
      'The policy of each project has a version, which nodes compare to see whether they are current.',
    )
  policy
    .command('raise')
    .summary('raise all versions, after a snapshot of storage was restored')
    .description(
      'Raises the policy version and the floor of every project, so that every node loads a new snapshot.\n' +
        'Run it after you have put back a snapshot of the disk or a copy of the files: the database would otherwise assign\n' +
        'versions again that nodes have seen. keyrail restore and a fail-over do the same by themselves. It works beside a\n' +
        'running service; for 90 s no revocation is acknowledged.',
    )
    .option('--json', 'print {"projects"}')
    .action(async ({ json }: Flags) => {
      const database = await withProgress('Opening the database', () => openDatabase(settings.read()))
      try {
        await requireSchema(database.direct)
        const projects = await withClient(database.direct, raisePolicies)
        if (projects === null) throw new CommandFailed('The database is a standby. Run this on its primary.')
        if (json) printJson({ projects })
        else print(`Raised the policy version of ${projects.toLocaleString('en')} projects.`)
      } finally {
        await database.close()
      }
    })
}

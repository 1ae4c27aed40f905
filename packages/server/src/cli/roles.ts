import type { Command } from 'commander'
import { type Logins, loginsSql } from '../platform/db/roles/service-rights.ts'
import { print } from './output.ts'

export function addRolesCommand(program: Command): void {
  program
    .command('roles')
    .summary('print the SQL for the logins of a database')
    .description(
      'Prints SQL for an operator to run in psql: a login that owns the tables and migrates, and one that serves and\n' +
        'can neither change nor delete a row of the audit log. Set a password for each, with \\password in psql.\n\n' +
        'Run keyrail migrate with the URL of the owner, which also grants what the other one needs, and keyrail serve\n' +
        'with the URL of the other one.',
    )
    .option('--owner <name>', 'the login that owns the tables', 'keyrail_owner')
    .option('--service <name>', 'the login of keyrail serve', 'keyrail')
    .option('--database <name>', 'the database', 'keyrail')
    .action((logins: Logins) => print(loginsSql(logins)))
}

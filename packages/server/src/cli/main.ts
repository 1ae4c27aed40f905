/**
 * The `keyrail` command, the only place that reads the environment. A file for each verb: `migrate.ts`, `roles.ts`,
 * `audit.ts`, `guard.ts`, `policy.ts`, `person.ts`, `secret-keys.ts`, `signing-key.ts`, `encryption.ts`; folders for `serve/`,
 * `dev/`, `doctor/`, `backup/`, `workspace/`, `keys/`. `settings.ts` has the settings of all, `database.ts`, `connections.ts` and
 * `own-db.ts` open the database, `unreachable.ts` explains why one does not answer, `encryption-key.ts` finds the key.
 * `ask.ts`, `output.ts`, `progress.ts`, `spans.ts` and `failure.ts` talk to the person.
 */

import { Command } from 'commander'
import { version } from '../version.ts'
import { addAuditCommand } from './audit.ts'
import { addBackupCommand } from './backup/backup.ts'
import { addRestoreCommand } from './backup/restore.ts'
import { addDevCommand } from './dev/dev.ts'
import { addDoctorCommand } from './doctor/doctor.ts'
import { addEncryptionCommand } from './encryption.ts'
import { exitCodeOf, explain } from './failure.ts'
import { addGuardCommand } from './guard.ts'
import { addKeysCommand } from './keys/keys.ts'
import { addMigrateCommand } from './migrate.ts'
import { inform, outliveReaders, paintError } from './output.ts'
import { addPersonCommand } from './person.ts'
import { addPolicyCommand } from './policy.ts'
import { addRolesCommand } from './roles.ts'
import { addSecretKeysCommand } from './secret-keys.ts'
import { addServeCommand } from './serve/serve.ts'
import { settingsFrom } from './settings.ts'
import { addSigningKeyCommand } from './signing-key.ts'
import { addWorkspaceCommand } from './workspace/workspace.ts'

outliveReaders()

/** The only place that reads the environment. */
const settings = settingsFrom(process.env)

const program = new Command('keyrail')
  .description('The open-source control plane for API keys.')
  .version(version, '-v, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .helpCommand('help [command]', 'print the help of a command')
  .showHelpAfterError('(keyrail --help lists the commands)')
  .addHelpText(
    'after',
    '\nSettings come from the environment (SERVICE_*, DATABASE_URL). Without DATABASE_URL an embedded Postgres in\n' +
      'SERVICE_DATA_DIR is used. Commands that need it also work beside a running service.',
  )

addServeCommand(program, settings)
addDevCommand(program)
addMigrateCommand(program, settings)
addDoctorCommand(program, settings)
addRolesCommand(program)
addBackupCommand(program, settings)
addRestoreCommand(program, settings)
addSecretKeysCommand(program, settings)
addSigningKeyCommand(program, settings)
addEncryptionCommand(program, settings)
addPolicyCommand(program, settings)
addWorkspaceCommand(program, settings)
addPersonCommand(program, settings)
addAuditCommand(program)
addGuardCommand(program, process.env)
addKeysCommand(program, process.env)

try {
  await program.parseAsync()
} catch (error) {
  inform(`${paintError('red', 'Error:')} ${explain(error)}`)
  process.exit(exitCodeOf(error))
}

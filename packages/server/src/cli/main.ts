import { Command } from 'commander'
import { version } from '../version.ts'
import { addAuditCommand } from './audit.ts'
import { addBackupCommand } from './backup.ts'
import { addDevCommand } from './dev.ts'
import { addDoctorCommand } from './doctor.ts'
import { addEncryptionCommand } from './encryption.ts'
import { exitCodeOf, explain } from './failure.ts'
import { addMigrateCommand } from './migrate.ts'
import { paintError, tell } from './output.ts'
import { addPersonCommand } from './person.ts'
import { addRestoreCommand } from './restore.ts'
import { addSecretKeysCommand } from './secret-keys.ts'
import { addServeCommand } from './serve.ts'
import { settingsFrom } from './settings.ts'
import { addSigningKeyCommand } from './signing-key.ts'
import { addWorkspaceCommand } from './workspace.ts'

/** The one place that hands the environment on. */
const settings = settingsFrom(process.env)

const program = new Command('keyrail')
  .description('The open-source control plane for API keys.')
  .version(version, '-v, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .helpCommand('help [command]', 'print the help of a command')
  .showHelpAfterError('(keyrail --help lists what there is)')
  .addHelpText(
    'after',
    '\nSettings come from the environment (SERVICE_*, DATABASE_URL). Without DATABASE_URL an embedded Postgres is\n' +
      'used, in SERVICE_DATA_DIR. A command that needs it works beside a running service too.',
  )

addServeCommand(program, settings)
addDevCommand(program)
addMigrateCommand(program, settings)
addDoctorCommand(program, settings)
addBackupCommand(program, settings)
addRestoreCommand(program, settings)
addSecretKeysCommand(program, settings)
addSigningKeyCommand(program, settings)
addEncryptionCommand(program, settings)
addWorkspaceCommand(program, settings)
addPersonCommand(program, settings)
addAuditCommand(program)

try {
  await program.parseAsync()
} catch (error) {
  tell(`${paintError('red', 'Error:')} ${explain(error)}`)
  process.exit(exitCodeOf(error))
}

/**
 * Commands on the keys of a workspace, by the API: `api.ts` opens it, `explain.ts` says why a key is accepted or refused,
 * `settle.ts` revokes, pauses and resumes one, `import/` brings keys from elsewhere, and `export.ts` writes all keys into a file.
 * Both of these read `lines.ts` in UTF-8 (`utf8.ts`), name members with `names.ts`, keep their place with `replace-file.ts`, keep others
 * out with `lock.ts` and stop by `stop-signals.ts`.
 */

import type { Command } from 'commander'
import type { Environment } from './api.ts'
import { type ExplainFlags, explainKey } from './explain.ts'
import { type ExportFlags, exportKeys } from './export.ts'
import { formats } from './import/formats.ts'
import { type ImportFlags, importKeys } from './import/import.ts'
import { type SettleFlags, settleKey, type Verb } from './settle.ts'

export function addKeysCommand(program: Command, env: Environment): void {
  const keys = program
    .command('keys')
    .summary('keys of your customers, by the API')
    .description(
      'Commands on the keys of a workspace. They call the service at KEYRAIL_URL with the secret key in\n' +
        'KEYRAIL_SECRET_KEY, need no database, and run anywhere.',
    )
  keys
    .command('explain')
    .summary('say why a key is accepted or refused')
    .description(
      'Says whether your servers accept a key now, and every reason why not. Charges nothing. The secret key needs\n' +
        'keys:read.',
    )
    .argument('<key>', 'the id of the key; - reads the key itself from standard input')
    .option('--scope <scope...>', 'scopes that the request needs')
    .option('--ip <address>', 'the address of the caller, for a key that is bound to networks')
    .option('--at <time>', 'judge the key for another time, such as 2027-01-31T09:30:00Z')
    .option('--json', 'print the answer of the API')
    .action((key: string, flags: ExplainFlags) => explainKey(env, key, flags))
  addMoving(keys, env)
  for (const [verb, { summary, description }] of Object.entries(verbs)) {
    const command = keys
      .command(verb)
      .summary(summary)
      .description(`${description} The secret key needs keys:write.`)
      .argument('<id>', 'the id of the key')
      .option('--wait', 'wait until all live nodes have the change, and fail if one has not in time')
      .option('--json', 'print the answer of the API')
      .action((id: string, flags: SettleFlags) => settleKey(env, verb as Verb, id, flags))
    if (verb !== 'enable')
      command.option('--reason <text>', 'stands in the audit log, at most 500 characters')
  }
}

function addMoving(keys: Command, env: Environment): void {
  const width = Math.max(...Object.keys(formats).map(name => name.length))
  const list = Object.entries(formats).map(([name, { what }]) => `  ${name.padEnd(width)}  ${what}`)
  keys
    .command('import')
    .summary('import keys that customers hold already')
    .description(
      'Tries all rows of a file, asks, and imports them: customers keep their keys. Keys in plain text are hashed on this\n' +
        'machine. Run again after a stop, it goes on where it was. The secret key needs keys:import.\n\n' +
        `Formats:\n${list.join('\n')}`,
    )
    .argument('<file>', 'NDJSON, CSV with a line of column names, or JSON')
    .requiredOption('--project <id>', 'the project of the keys')
    .requiredOption('--env <env>', 'their environment: live or test')
    .option('--format <format>', 'what wrote the file', 'keyrail')
    .option('--from <id>', 'of an export with several projects, the one whose keys to import')
    .option('--create-tenants', 'create tenants that the file names and that do not exist')
    .option('--dry-run', 'only try all rows; fails if rows would fail')
    .option('--yes', 'import after the trial without a question')
    .option('--skip-invalid', 'import the other rows if some would fail')
    .option('--failed <file>', 'where rows that fail are written; by default beside the file')
    .option('--json', 'print the counts as JSON')
    .action((file: string, flags: ImportFlags) => importKeys(env, file, flags))
  keys
    .command('export')
    .summary('export all keys, to import them elsewhere')
    .description(
      'Writes all keys that work into a file of NDJSON, with their digests, as the command import takes them. Run again\n' +
        "after a stop, it goes on where it was. It needs an owner's live secret key without limits.",
    )
    .argument('<file>', 'the file to write')
    .option('--project <id>', 'the keys of a project alone')
    .option('--env <env>', 'the keys of an environment alone: live or test')
    .action((file: string, flags: ExportFlags) => exportKeys(env, file, flags))
}

const verbs: Readonly<Record<Verb, { summary: string; description: string }>> = {
  revoke: {
    summary: 'revoke a key for good',
    description: 'Ends a key: your servers refuse it within seconds. It cannot be undone.',
  },
  disable: {
    summary: 'pause a key',
    description: 'Pauses a key: your servers refuse it until it is resumed.',
  },
  enable: {
    summary: 'resume a paused key',
    description: 'Resumes a paused key, which is then what it was.',
  },
}

/** Commands on the keys of a workspace, by the API: `api.ts` opens it, `explain.ts` says why a key is accepted or refused. */

import type { Command } from 'commander'
import type { Environment } from './api.ts'
import { type ExplainFlags, explainKey } from './explain.ts'

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
    .option('--at <time>', 'judge the key for another time, such as 2027-01-31T09:30:00Z')
    .option('--json', 'print the answer of the API')
    .action((key: string, flags: ExplainFlags) => explainKey(env, key, flags))
}

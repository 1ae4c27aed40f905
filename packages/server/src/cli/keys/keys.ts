/**
 * Commands on the keys of a workspace, by the API: `api.ts` opens it, `explain.ts` says why a key is accepted or refused, and
 * `settle.ts` revokes, pauses and resumes one.
 */

import type { Command } from 'commander'
import type { Environment } from './api.ts'
import { type ExplainFlags, explainKey } from './explain.ts'
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

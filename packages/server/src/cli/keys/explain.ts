import { text } from 'node:stream/consumers'
import type { KeyExplanation } from '@keyrail/contract/vendor/explain'
import { isUuid } from '../../platform/http/validate.ts'
import { CommandFailed } from '../failure.ts'
import { paint, print, printJson } from '../output.ts'
import { type Environment, type Given, openKeysApi } from './api.ts'

export interface ExplainFlags {
  scope?: string[]
  ip?: string
  at?: string
  json?: true
}

/** @param named the id of a key, or `-` for the key itself on standard input: arguments are seen by others and kept in histories. */
export async function explainKey(env: Environment, named: string, flags: ExplainFlags): Promise<void> {
  const { scope: scopes, ip, at, json } = flags
  if (named !== '-' && !isUuid(named))
    throw new CommandFailed('Name the id of a key, or - and give the key itself on standard input.')
  const { keys } = await openKeysApi(env)
  const asked = {
    ...(scopes !== undefined && { scopes }),
    ...(ip !== undefined && { ip }),
    ...(at !== undefined && { at }),
  }
  const explanation =
    named === '-'
      ? await keys.explainText({ key: (await text(process.stdin)).trim(), ...asked })
      : await keys.explain(named, asked)
  if (json) printJson(explanation)
  else show(explanation)
}

function show({ accepted, code, at, key, tenant, project, reasons, nodes }: Given<KeyExplanation>): void {
  const verdict = accepted ? paint('green', 'accepted') : paint('red', `refused: ${code}`)
  print(`${verdict} at ${at}`)
  if (key !== null && tenant !== null && project !== null) {
    print()
    print(`  ${key.displayPrefix}…${key.name === null ? '' : ` "${key.name}"`}, ${key.env}, ${key.id}`)
    print(`  of ${tenant.externalId} in ${project.name}`)
  }
  print()
  for (const { code, applies, detail } of reasons)
    print(`  ${applies ? paint('red', 'yes') : ' no'}  ${code.padEnd(18)}  ${detail}`)
  if (nodes !== null) {
    print()
    print(`  ${nodes.current} of ${nodes.live} live nodes hold its last change, version ${nodes.version}.`)
    for (const { node, version, seenAt } of nodes.behind)
      print(`  ${node} holds version ${version}, and was seen at ${seenAt}.`)
  }
}

import type { PausedKey, RevokedKey } from '@keyrail/contract/vendor/keys'
import { isUuid } from '../../platform/http/validate.ts'
import { CommandFailed } from '../failure.ts'
import { paint, print, printJson } from '../output.ts'
import { type Environment, type Given, openKeysApi } from './api.ts'

export type Verb = 'revoke' | 'disable' | 'enable'

export interface SettleFlags {
  reason?: string
  wait?: true
  json?: true
}

const done: Readonly<Record<Verb, string>> = { revoke: 'revoked', disable: 'paused', enable: 'resumed' }

/**
 * Changes whether a key works. A key that is so already stays as it is.
 * @throws {CommandFailed} if a live node has not said in the time that was waited that it has the change
 */
export async function settleKey(env: Environment, verb: Verb, id: string, flags: SettleFlags): Promise<void> {
  if (!isUuid(id)) throw new CommandFailed('Name the id of a key.')
  const { reason, wait = false, json } = flags
  const { keys } = await openKeysApi(env)
  const key = await keys[verb](id, { ...(reason !== undefined && { reason }), ...(wait && { wait }) })
  if (json) printJson(key)
  else {
    const named = `${key.displayPrefix}…${key.name === null ? '' : ` "${key.name}"`}`
    print(`${paint(verb === 'enable' ? 'green' : 'red', done[verb])} ${named}, ${key.env}, ${key.id}`)
    if (key.propagation !== undefined) show(key.propagation)
  }
  if (key.propagation?.acknowledged === false)
    throw new CommandFailed('The change is made. Not every live node has said in time that it has it.')
}

type Propagation = NonNullable<Given<RevokedKey | PausedKey>['propagation']>

function show({ nodes, nodesAcknowledged, pending, reason }: Propagation): void {
  print(
    reason === 'nodes_unknown'
      ? 'The database was replaced a moment ago, so the live nodes are not known yet.'
      : `${nodesAcknowledged} of ${nodes} live nodes have the change.`,
  )
  for (const node of pending) print(`  ${node} has not said so.`)
}

import type { Config } from '../../config.ts'
import { patientAtStart } from '../../platform/db/connection.ts'
import { describeHost, readHostStates } from '../../platform/db/failover/hosts.ts'
import { allConnections } from '../connections.ts'
import type { Check } from './check.ts'

/** Asks each host of a list whether it is the primary. */
export async function checkHosts(config: Config): Promise<Check[]> {
  const lists = allConnections(config)
    .map(patientAtStart)
    .filter(({ hosts }) => hosts !== undefined)
  return await Promise.all(
    lists.map(async (list): Promise<Check> => {
      const found = await readHostStates(list)
      const name = 'hosts'
      const message = found.map(describeHost).join('; ')
      const primaries = found.filter(({ state }) => state === 'primary')
      if (primaries.length > 1)
        return {
          name,
          status: 'fault',
          message,
          todo: 'Stop all of these primaries but one: it lacks what the others have committed.',
        }
      if (found.every(({ state }) => !(state instanceof Error))) return { name, status: 'ok', message }
      return {
        name,
        status: 'warning',
        message,
        todo: 'Until each host answers, a failover to it does not reach Keyrail.',
      }
    }),
  )
}

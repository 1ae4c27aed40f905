import type pg from 'pg'
import { armPause, type PausePlace, pausedBackends, releasePauses, until } from './pauses.ts'
import type { Relay, StopAt } from './relay.ts'

/** How a mutation is caught: by a relay or by a trigger. */
type Catch = { by: 'postgres relay' | 'http relay'; at: StopAt } | { by: 'trigger'; place: PausePlace }

const firstWrite =
  /^[PB] (workspace|projects|tenants|keys|secret_keys)\.(insert|update|revoke|revoke_project|revoke_tenant|delete)$/

/** The named places of a mutation's way, from the request to its answer. */
export const points: Record<string, Catch> = {
  'before begin': { by: 'postgres relay', at: { side: 'to server', label: /^(Q begin|[PB] db\.begin)$/ } },
  'begun, nothing written': { by: 'postgres relay', at: { side: 'to server', label: firstWrite } },
  'row written': { by: 'trigger', place: 'row written' },
  'version raised': { by: 'trigger', place: 'version raised' },
  'answer recorded': { by: 'trigger', place: 'answer recorded' },
  'chain locked, no row': { by: 'trigger', place: 'chain locked' },
  'chain row added': { by: 'trigger', place: 'chain row added' },
  'chain head moved': { by: 'trigger', place: 'chain head moved' },
  'commit not sent': {
    by: 'postgres relay',
    at: { side: 'to server', label: /^(Q commit|[PB] db\.commit)$/ },
  },
  'commit begun': { by: 'trigger', place: 'commit begun' },
  'committed, server unaware': { by: 'postgres relay', at: { side: 'to client', label: /^C COMMIT$/ } },
  'committed, client unaware': { by: 'http relay', at: { side: 'to client', label: /./ } },
}

export interface Traps {
  postgresRelay: Relay
  httpRelay: Relay
  /** A direct connection, which holds the triggers' lock. */
  client: pg.Client
  /** Mutations that clients wait for. */
  pending(): number
}

export interface Trap {
  /** Mutations that have reached the point and wait there. */
  caught(): Promise<number>
  /** Releases them; a message stopped in a relay is lost with its connection. */
  open(): Promise<void>
}

export async function setTrap(
  point: string,
  { postgresRelay, httpRelay, client, pending }: Traps,
): Promise<Trap> {
  const how = points[point]
  if (how === undefined) throw new RangeError(`there is no point ${point}`)
  if (how.by === 'trigger') {
    await armPause(client, how.place)
    return {
      caught: () => pausedBackends(client, how.place),
      open: async () => void (await releasePauses(client)),
    }
  }
  const relay = how.by === 'http relay' ? httpRelay : postgresRelay
  relay.arm(how.at)
  return {
    caught: async () => relay.stopped(),
    async open() {
      // A service that lives on would still be at work for requests that its clients have lost.
      if (how.by === 'http relay')
        await until('the answer to every client', () => relay.stopped() >= pending())
      relay.cut()
    },
  }
}

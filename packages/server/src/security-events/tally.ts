import type { Clock } from '../platform/clock.ts'
import type { MakeId } from '../platform/ids.ts'
import { networkOf } from '../platform/throttle/client-network.ts'
import { type NewEvent, nowhere } from './event.ts'
import type { EventRow } from './sql.ts'

/** What is alike within it is one row with a count. */
const foldMs = 60_000
/** Rows that one workspace may fill a minute; further events are counted in one row of their kind, without an address. */
export const rowsPerWorkspace = 60
/** The same for what is of no workspace, which anybody can cause. */
export const rowsOfNobody = 200
/** Rows that are held, some 500 bytes each, while the store is away. */
export const heldMax = 10_000

export interface Tally {
  /** Notes what happened. Neither waits nor throws. */
  note(event: NewEvent): void
  /** Rows that are not written as they stand. */
  unwritten(): Unwritten[]
}

export interface Unwritten {
  readonly row: EventRow
  /** Says that the store has it as it is here. */
  confirm(): void
}

interface Entry {
  row: EventRow
  writtenCount: number
}

/**
 * Events by what they have in common: kind, workspace, person, credential, network and details. A flood of one kind is
 * one row a minute.
 */
export function createTally(clock: Clock, makeId: MakeId, dropped: () => void): Tally {
  let minute = 0
  let current = new Map<string, Entry>()
  let rowsBy = new Map<string, number>()
  /** Of minutes that have passed. */
  let late: Entry[] = []

  const turn = (now: number) => {
    const began = Math.floor(now / foldMs)
    if (began === minute) return
    minute = began
    late = [...late, ...current.values()].filter(isUnwritten)
    current = new Map()
    rowsBy = new Map()
  }

  const entryOf = (event: NewEvent, now: number): Entry | null => {
    const scope = event.workspaceId ?? nowhere
    const name = nameOf(event)
    const known = current.get(name)
    if (known !== undefined) return known
    const rows = rowsBy.get(scope) ?? 0
    const isFull = rows >= (scope === nowhere ? rowsOfNobody : rowsPerWorkspace)
    if (isFull && !isBare(event)) return entryOf(bareOf(event), now)
    if (current.size + late.length >= heldMax) return null
    const entry = { row: rowOf(event, scope, makeId(), now), writtenCount: 0 }
    current.set(name, entry)
    rowsBy.set(scope, rows + 1)
    return entry
  }

  return {
    note(event) {
      const now = clock.now()
      turn(now)
      const entry = entryOf(event, now)
      if (entry === null) return dropped()
      const { row } = entry
      entry.row = { ...row, count: row.count + 1, last_at: new Date(Math.max(now, row.last_at.getTime())) }
    },
    unwritten() {
      late = late.filter(isUnwritten)
      return [...late, ...[...current.values()].filter(isUnwritten)].map(entry => {
        const { row } = entry
        return {
          row,
          confirm: () => {
            entry.writtenCount = Math.max(entry.writtenCount, row.count)
          },
        }
      })
    },
  }
}

const isUnwritten = ({ row, writtenCount }: Entry) => row.count > writtenCount

const nameOf = ({ kind, workspaceId, userId, actor, client, details }: NewEvent): string =>
  JSON.stringify([kind, workspaceId, userId, actor, client && networkOf(client.ip), details])

/** What is left of an event that finds no room of its own. */
const bareOf = ({ kind, workspaceId }: NewEvent): NewEvent => ({
  kind,
  workspaceId,
  userId: null,
  actor: null,
  client: null,
  details: { more: true },
})
const isBare = ({ details }: NewEvent) => details?.more === true

const rowOf = (event: NewEvent, workspaceId: string, id: string, now: number): EventRow => ({
  workspace_id: workspaceId,
  id,
  kind: event.kind,
  user_id: event.userId,
  actor_type: event.actor?.type ?? null,
  actor_id: event.actor?.id ?? null,
  ip: event.client?.ip ?? null,
  user_agent: event.client?.userAgent ?? null,
  count: 0,
  details: { ...event.details },
  created_at: new Date(now),
  last_at: new Date(now),
})

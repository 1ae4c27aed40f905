import type { Clock } from '../platform/clock.ts'
import { partOf } from '../platform/concurrency/part-of.ts'
import type { MakeId } from '../platform/ids.ts'
import { networkOf } from '../platform/network/client-network.ts'
import { type NewEvent, nowhere } from './event.ts'
import { type EventRow, rowOf } from './sql.ts'

/** Events that are alike within this time are one row with a count. */
const foldMs = 60_000
/** Rows that one workspace may fill in a minute; further events are counted in one row of their kind, without details. */
export const rowsPerWorkspace = 60
/**
 * The same for events without a workspace, which any client can cause: of each kind, those about a known person apart from
 * those about unknown ones.
 */
export const rowsOfNobody = 200
/** Rows of the running minute and rows that the database has not taken, about 500 bytes each. */
export const heldMax = 10_000
/** Once half of them are taken, a workspace may fill so many: workspaces that fill theirs do not cost others their events. */
const rowsBesideMany = 6

export interface Tally {
  /** Counts an event. Neither waits nor throws. */
  note(event: NewEvent): void
  /** Rows whose current count is not written yet. */
  unwritten(): Unwritten[]
}

interface Unwritten {
  readonly row: EventRow
  /** Marks this state of the row as written. */
  confirm(): void
}

interface Entry {
  row: EventRow
  writtenCount: number
}

/**
 * Groups events by kind, workspace, person, credential, network and details, so that a flood of one kind is one row a
 * minute.
 * @param processes among which the rows are divided.
 */
export function createTally(clock: Clock, makeId: MakeId, dropped: () => void, processes = 1): Tally {
  const bounds = {
    held: partOf(heldMax, processes),
    ofWorkspace: partOf(rowsPerWorkspace, processes),
    ofNobody: partOf(rowsOfNobody, processes),
    besideMany: partOf(rowsBesideMany, processes),
  }
  const mostRows = ({ workspaceId }: NewEvent, held: number): number => {
    if (workspaceId === null) return bounds.ofNobody
    return held < bounds.held / 2 ? bounds.ofWorkspace : bounds.besideMany
  }
  let minute = 0
  let current = new Map<string, Entry>()
  let rowsBy = new Map<string, number>()
  /** From earlier minutes. */
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
    const scope = scopeOf(event)
    const name = nameOf(event)
    const known = current.get(name)
    if (known !== undefined) return known
    const rows = rowsBy.get(scope) ?? 0
    const held = current.size + late.length
    if (rows >= mostRows(event, held) && !isBare(event)) return entryOf(bareOf(event), now)
    if (held >= bounds.held) return null
    const entry = { row: rowOf(event, makeId(), new Date(now), 0), writtenCount: 0 }
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

/** Whose rows an event counts among. */
const scopeOf = ({ workspaceId, kind, userId }: NewEvent): string =>
  workspaceId ?? `${nowhere} ${kind} ${userId === null ? 'unknown' : 'known'}`

/** What is recorded of an event when the workspace has no row left for it. */
const bareOf = ({ kind, workspaceId }: NewEvent): NewEvent => ({
  kind,
  workspaceId,
  userId: null,
  actor: null,
  client: null,
  details: { more: true },
})
const isBare = ({ details }: NewEvent) => details?.more === true

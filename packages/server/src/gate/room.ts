import type { Chore } from '../platform/db/upkeep.ts'
import type { WriteLetter } from '../platform/mail/deliver.ts'
import type { WriterParts } from '../platform/mail/writer-parts.ts'
import type { Figure } from '../platform/observe/figures.ts'
import type { Reading } from '../platform/observe/readings.ts'
import type { Route } from './route.ts'

/**
 * A room of the service as one value, the `room.ts` of its folder. `rooms.ts` lists the rooms; all that the service does for a
 * room follows from there.
 */
export interface Room {
  readonly routes?: readonly Route[]
  /**
   * Opens what the routes of this and of other rooms need while the process runs.
   * @param outside what the service gives every room, and what the rooms before this one have opened
   */
  readonly open?: (outside: never) => object | Promise<object>
  /** Closes it, after the rooms behind this one. @param opened all that is open */
  readonly close?: (opened: never) => Promise<void>
  /** What is deleted after its retention, or done when it is due. */
  readonly chores?: (needs: never) => readonly Chore[]
  /** The letters that the room writes, by kind. */
  readonly letters?: (parts: WriterParts) => Readonly<Record<string, WriteLetter>>
  /** Figures that a scrape reads from memory. @param opened all that is open */
  readonly figures?: (opened: never) => readonly Figure[]
  /** Figures that a scrape reads from the database. */
  readonly readings?: readonly Reading[]
}

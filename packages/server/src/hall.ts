import type { Base } from './base.ts'
import type { Room } from './gate/room.ts'
import { platformChores } from './platform/chores.ts'
import type { SealedStore } from './platform/db/sealed/store.ts'
import type { Chore } from './platform/db/upkeep.ts'
import type { WriteLetter } from './platform/mail/deliver.ts'
import type { WriterParts } from './platform/mail/writer-parts.ts'
import type { Figure } from './platform/observe/figures.ts'
import type { Reading } from './platform/observe/readings.ts'
import { rooms } from './rooms.ts'

/** What all rooms have together: each function does one thing for every room of the list. */

type Opens = Extract<(typeof rooms)[number], { open: unknown }>['open']
type OpenedBy<Open> = Open extends (outside: never) => infer Opened ? Awaited<Opened> : never
type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer Both) => void
  ? Both
  : never
/** What the rooms have opened. */
export type Opened = All<OpenedBy<Opens>>

/** A room that needs more than is open, or that names something else than it has opened, does not compile. */
interface FittingRoom extends Omit<Room, 'open' | 'close' | 'chores' | 'figures'> {
  readonly open?: (outside: Base & Opened) => object | Promise<object>
  readonly close?: (opened: Base & Opened) => Promise<void>
  readonly chores?: (needs: ChoreNeeds) => readonly Chore[]
  readonly figures?: (opened: Base & Opened) => readonly Figure[]
}
const all: readonly FittingRoom[] = rooms

/** Opens the rooms, one after the other. Where one cannot, those before it are closed again. */
export async function openRooms(base: Base, some: readonly FittingRoom[] = all): Promise<Base & Opened> {
  const open = { ...base } as Base & Opened
  for (const [at, room] of some.entries()) {
    try {
      Object.assign(open, await room.open?.(open))
    } catch (error) {
      await closeThem(some.slice(0, at), open)
      throw error
    }
  }
  return open
}

/** Closes the rooms, the last one first. */
export const closeRooms = (open: Base & Opened): Promise<void> => closeThem(all, open)

async function closeThem(some: readonly FittingRoom[], open: Base & Opened): Promise<void> {
  for (const room of some.toReversed()) await room.close?.(open)
}

interface ChoreNeeds extends Pick<Base, 'connection' | 'errands' | 'log'> {
  /** The stored keys that sign embed tokens; null when the operator provides them. */
  readonly signing: SealedStore | null
}

/** Everything that is deleted after its retention, or done when it is due. */
export const choresOf = (needs: ChoreNeeds): readonly Chore[] => [
  ...platformChores,
  ...all.flatMap(room => room.chores?.(needs) ?? []),
]

export const figuresOf = (open: Base & Opened): readonly Figure[] =>
  all.flatMap(room => room.figures?.(open) ?? [])

/** Everything that the rooms write to people, by kind. */
export const lettersOf = (parts: WriterParts): Readonly<Record<string, WriteLetter>> =>
  Object.assign({}, ...all.map(room => room.letters?.(parts)))

export const readings: readonly Reading[] = all.flatMap(room => room.readings ?? [])

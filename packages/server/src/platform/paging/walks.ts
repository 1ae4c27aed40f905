import { invalidField } from '../refusal.ts'
import type { ListBounds } from './list-leg.ts'
import { type Listed, listedOne, pageLimits } from './listed.ts'

/**
 * Lists whose rows come from several indexes. Each walk reads one index in its order and stops at the limit, so no page costs
 * more than its rows, however many other rows match.
 */

/** Where a walk goes on: behind the row with this id, at this value of the column that orders the walk. */
export interface WalkPosition {
  readonly value: string
  readonly id: string
}

/** Reads rows behind a position, or from the start, in the order of its part. */
type Walk<Row> = (after: WalkPosition | null, bounds: Required<ListBounds>) => Promise<Listed<Row>>

/** One part of a list. The walks of a part have the same order, and are merged; the parts follow each other. */
export interface Part<Row> {
  readonly walks: readonly Walk<Row>[]
  readonly order: 'rising' | 'falling'
  /** The column that orders the walks, as text that sorts as the column does. Ids break ties. */
  placeOf(row: Row): string
}

interface Position extends WalkPosition {
  readonly part: number
}

export const writePosition = ({ part, id, value }: Position) => `${part} ${id} ${value}`

/** Only for a position that was sealed: it comes from `writePosition`. */
function readPosition(text: string): Position {
  const [, part, id, value] = /^(\d) (\S+) ([\s\S]*)$/.exec(text) ?? []
  if (part === undefined || id === undefined || value === undefined) {
    throw invalidField('cursor', 'is not a cursor of this list')
  }
  return { part: Number(part), id, value }
}

/** A part with at most one row, such as that of an id. */
export const partOfOne = <Row>(find: () => Promise<Row | null>): Part<Row> => ({
  order: 'rising',
  placeOf: () => '',
  walks: [
    async after => {
      const row = after === null ? await find() : null
      return listedOne(row === null ? [] : [row])
    },
  ],
})

interface Found<Row> {
  readonly row: Row
  readonly position: Position
}

/** Reads a page of the parts, and one row more. The statements of one part's walks travel together. */
export async function readParts<Row extends { id: string }>(
  parts: readonly Part<Row>[],
  after: string | null,
  limit: number,
): Promise<Listed<Found<Row>>> {
  const from = after === null ? null : readPosition(after)
  const found: Found<Row>[] = []
  let bytes = 0
  let isCut = false
  for (const [part, { walks, order, placeOf }] of parts.entries()) {
    const most = limit + 1 - found.length
    if (most === 0 || isCut) break
    if (from !== null && part < from.part) continue
    const place = part === from?.part ? from : null
    const bounds = { most, bytesMax: Math.floor(pageLimits.bytesMax / walks.length) }
    const lists = await Promise.all(walks.map(walk => walk(place, bounds)))
    const sign = order === 'rising' ? 1 : -1
    const compare = (a: Found<Row>, b: Found<Row>) => sign * comparePlaces(a.position, b.position)
    const placed = lists.map(list => ({
      isCut: list.isCut,
      rows: list.rows.map(row => ({ row, position: { part, id: row.id, value: placeOf(row) } })),
    }))
    // If a walk was cut, its missing rows come after its last row, so rows of other walks after that row are left out too.
    const ends = placed.flatMap(list => (list.isCut ? list.rows.slice(-1) : []))
    const merged = placed
      .flatMap(({ rows }) => rows)
      .filter(one => ends.every(end => compare(one, end) <= 0))
      .toSorted(compare)
    found.push(...merged.slice(0, most))
    bytes += lists.reduce((sum, list) => sum + list.bytes, 0)
    isCut = ends.length > 0
  }
  return { rows: found, bytes, isCut }
}

/** Compares bytes, as the collation C and the type uuid do. */
const comparePlaces = (a: WalkPosition, b: WalkPosition): number =>
  Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)) ||
  Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))

import { createHmac, timingSafeEqual } from 'node:crypto'
import { invalidField } from './refusal.ts'

/**
 * Page cursors: opaque, and bound to the list and the workspace that gave them out by an HMAC-SHA-256,
 * so that a forged one, or one from elsewhere, is told from ours.
 */
export interface Cursors {
  seal(list: string, workspaceId: string, position: string): string
  /** @throws {Refusal} `validation_failed` naming `cursor`. */
  open(list: string, workspaceId: string, cursor: string): string
}

const tagLength = 16

export function createCursors(secret: Buffer): Cursors {
  const tag = (list: string, workspaceId: string, position: string) =>
    createHmac('sha256', secret)
      .update(JSON.stringify([list, workspaceId, position]))
      .digest()
      .subarray(0, tagLength)
  return {
    seal: (list, workspaceId, position) =>
      Buffer.concat([tag(list, workspaceId, position), Buffer.from(position)]).toString('base64url'),
    open(list, workspaceId, cursor) {
      const bytes = Buffer.from(cursor, 'base64url')
      const position = bytes.subarray(tagLength).toString()
      const given = bytes.subarray(0, tagLength)
      const ours =
        given.length === tagLength &&
        bytes.toString('base64url') === cursor &&
        timingSafeEqual(given, tag(list, workspaceId, position))
      if (!ours) throw invalidField('cursor', 'is not a cursor of this list')
      return position
    },
  }
}

/**
 * Makes the list envelope out of one row more than was asked for, which tells whether there are more.
 * @param seal the cursor of the next page, made from the last row of this one.
 */
export function page<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  seal: (last: Row) => string,
) {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const more = rows.length > limit && last !== undefined
  return {
    object: 'list' as const,
    data: shown.map(toItem),
    has_more: more,
    next_cursor: more ? seal(last) : null,
  }
}

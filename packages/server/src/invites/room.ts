/**
 * Invitations. `actions.ts` creates and lists them, `revocation.ts` revokes, `letters.ts` writes the mail, `shown.ts`
 * says the same to the holder of a token, `joining.ts` lets the room of members accept one, `resource.ts` is the shape
 * of the API. `restored.ts` ends them after a restore.
 */

import type { Room } from '../gate/room.ts'
import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { inviteLetters } from './letters.ts'
import { routes } from './routes.ts'
import { findInvited } from './sql.ts'

/**
 * Whether an address, by its `addressKey`, has a pending invitation in any workspace. Unauthenticated requests cause
 * this query, so the result must never reach the client.
 */
type FindInvited = Lane<string, boolean>

function openFindInvited(lanes: Lanes): FindInvited {
  return lanes.open({
    name: 'invited',
    shares: 'reads',
    statement: findInvited,
    repeatable: true,
    nameOf: addressKey => addressKey,
    values: addressKeys => [addressKeys],
    answers: (rows, addressKeys) => {
      const invited = new Set(rows.map(row => Number(row.place)))
      return addressKeys.map((_, i) => invited.has(i + 1))
    },
  })
}

export const invites = {
  routes,
  open: ({ lanes }: { lanes: Lanes }) => ({ invitedAddresses: openFindInvited(lanes) }),
  letters: inviteLetters,
} satisfies Room

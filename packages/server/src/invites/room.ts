import type { Room } from '../gate/room.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { openFindInvited } from './find-invited.ts'
import { inviteLetters } from './letters.ts'
import { routes } from './routes.ts'

export const invites = {
  routes,
  open: ({ lanes }: { lanes: Lanes }) => ({ invitedAddresses: openFindInvited(lanes) }),
  letters: inviteLetters,
} satisfies Room

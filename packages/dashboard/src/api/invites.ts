import type {
  CreatedInvite,
  Invite,
  InviteCreate,
  InviteList,
  Invites,
} from '@keyrail/contract/vendor/invites'
import { endpoint } from './endpoint.ts'

export const listInvites = endpoint<{ query: InviteList; answer: Invites }>('GET', '/v1/invites')
export const createInvite = endpoint<{ body: InviteCreate; answer: CreatedInvite }>('POST', '/v1/invites')
export const revokeInvite = endpoint<{ id: string; answer: Invite }>('POST', '/v1/invites/:id/revoke')

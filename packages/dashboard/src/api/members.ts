import type {
  ChangedMember,
  MemberList,
  MemberRemoval,
  Members,
  MemberUpdate,
  RemovedMember,
} from '@keyrail/contract/vendor/members'
import { endpoint } from './endpoint.ts'

export const listMembers = endpoint<{ query: MemberList; answer: Members }>('GET', '/v1/members')
export const changeRole = endpoint<{ id: string; body: MemberUpdate; answer: ChangedMember }>(
  'PATCH',
  '/v1/members/:userId',
)
export const removeMember = endpoint<{ id: string; query: MemberRemoval; answer: RemovedMember }>(
  'DELETE',
  '/v1/members/:userId',
)

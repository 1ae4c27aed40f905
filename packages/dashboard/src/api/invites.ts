import { endpoint } from './endpoint.ts'

export const listInvites = endpoint('GET /v1/invites')
export const createInvite = endpoint('POST /v1/invites')
export const revokeInvite = endpoint('POST /v1/invites/:id/revoke')

import type { Client } from '../platform/http/client.ts'

/** The common part of a person's security events about their own account. @param userId null when the person is unknown. */
export const eventOf = (userId: string | null, client: Client) => ({
  workspaceId: null,
  userId,
  actor: { type: 'user', id: userId },
  client,
})

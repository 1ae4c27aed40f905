import type { Client } from '../platform/http/client.ts'

/** What security events of a person about themselves have in common. @param userId null where nobody knows who it was. */
export const eventOf = (userId: string | null, client: Client) => ({
  workspaceId: null,
  userId,
  actor: { type: 'user', id: userId },
  client,
})

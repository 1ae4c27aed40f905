import type { Holder, Right } from '../platform/db/right.ts'
import type { Access } from './access.ts'
import type { Principal } from './principal.ts'

/** Migration 0019 describes what each of them locks. */
const holdKey: Holder = { function: 'hold_key_right', parameters: 2 }
const holdSession: Holder = { function: 'hold_session_right', parameters: 4 }
const holdEmbed: Holder = { function: 'hold_embed_right', parameters: 4 }

/**
 * The right that a mutation's transaction holds until it ends, so that a credential which ended after authentication can
 * write nothing: the body may have arrived slowly, or another request may have revoked the credential just before.
 * @returns null for the bootstrap token, which is a setting of the process and has no record.
 */
export function rightOf(principal: Principal, access: Access): Right | null {
  const { kind, id, sessionId, workspaceId, role, embed } = principal
  switch (kind) {
    case 'secret_key':
      return { holder: holdKey, values: [workspaceId, id] }
    case 'session': {
      // A person's own account needs no membership, whatever workspace the session acts in.
      const place = !access.open && access.inWorkspace ? workspaceId : null
      return { holder: holdSession, values: [sessionId, id, place, role] }
    }
    case 'embed_token':
      return {
        holder: holdEmbed,
        values: [workspaceId, embed?.tenant.id, embed?.tenant.epoch, embed?.mintedBy],
      }
    case 'bootstrap':
      return null
  }
}

import type { Holder, Right } from '../platform/db/right.ts'
import type { Access } from './access.ts'
import type { Principal } from './principal.ts'

/** Migration 0019 says what each holds. */
const holdKey: Holder = { function: 'hold_key_right', parameters: 2 }
const holdSession: Holder = { function: 'hold_session_right', parameters: 4 }
const holdEmbed: Holder = { function: 'hold_embed_right', parameters: 4 }

/**
 * What the transactions of a mutation hold until they end, so that a credential which ends after the gate has judged it
 * writes nothing: its body may have taken long to come, or another request may have been faster by a moment.
 * @returns null for the bootstrap token, which is a setting of the process and no record.
 */
export function rightOf(principal: Principal, access: Access): Right | null {
  const { kind, id, sessionId, workspaceId, role, embed } = principal
  switch (kind) {
    case 'secret_key':
      return { holder: holdKey, values: [workspaceId, id] }
    case 'session': {
      // A person's own matters take no membership, whichever workspace the session acts in.
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

import type { IncomingMessage } from 'node:http'
import { headerValues } from '../platform/http/headers.ts'
import { isUuid } from '../platform/http/validate.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import type { Principal } from './principal.ts'

/** The header in which a caller may name the workspace that it means. */
export const workspaceHeader = 'Keyrail-Workspace'
const headerName = workspaceHeader.toLowerCase()

/**
 * Refuses a request that names another workspace than the one in which its credential acts: a page that shows one workspace
 * while its session has moved to another must neither change nor show the wrong one. The header gives no access, and a
 * request without it is not checked.
 * @throws {Refusal} `validation_failed` when the header is malformed or duplicated, `workspace_changed` when it differs.
 */
export function assertActsInStated(request: IncomingMessage, { workspaceId }: Principal): void {
  const given = headerValues(request, headerName)
  if (given.length === 0) return
  const [stated = ''] = given
  if (given.length > 1 || !isUuid(stated)) {
    throw invalidField(workspaceHeader, 'must be sent once, with the id of a workspace')
  }
  if (stated.toLowerCase() !== workspaceId) {
    throw new Refusal(
      'workspace_changed',
      `The credential does not act in the workspace of ${workspaceHeader}.`,
    )
  }
}

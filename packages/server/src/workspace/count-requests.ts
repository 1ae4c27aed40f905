import type { FastifyInstance } from 'fastify'
import { whenAnswered } from '../platform/http/answered.ts'
import type { WorkspaceLoads } from './loads.ts'

/** Counts each answered request for the workspace in which its credential acts. */
export function countRequests(app: FastifyInstance, loads: Pick<WorkspaceLoads, 'countRequest'>): void {
  whenAnswered(app, ({ principal }) => {
    if (principal?.workspaceId != null) loads.countRequest(principal.workspaceId)
  })
}

import type { FastifyInstance } from 'fastify'
import { sendFile } from '../platform/http/serve-static.ts'
import { Refusal } from '../platform/refusal.ts'
import type { Dashboard } from './dashboard.ts'
import { buildingNotice, buildingRetryAfter, failedNotice } from './notice.ts'
import { sendNotice, unavailable } from './send-notice.ts'

/**
 * What belongs to this very version: the manual, a page for each code of an error, to which `type` of a problem leads, and the
 * packages that a vendor installs.
 */
export function serveBeside(app: FastifyInstance, dashboard: Dashboard): void {
  for (const address of ['/guides', '/guides/*', '/errors/:code', '/packages/:file'])
    app.get(address, async (request, reply) => {
      const shown = await dashboard.shown()
      if (shown.kind === 'building')
        return sendNotice(request, reply, buildingNotice, unavailable(buildingRetryAfter))
      if (shown.kind === 'failed') return sendNotice(request, reply, failedNotice, unavailable('60'))
      const { pathname } = new URL(request.raw.url ?? '', 'http://localhost')
      const file = shown.build.beside.get(pathname.replace(/\/$/, ''))
      if (file === undefined) throw new Refusal('route_not_found')
      return sendFile(request, reply, file)
    })
}

import type { FastifyInstance } from 'fastify'
import { sendFile } from '../platform/http/serve-static.ts'
import { Refusal } from '../platform/refusal.ts'
import type { Dashboard } from './dashboard.ts'
import { buildingRetryAfter } from './notice.ts'
import { widgetPlace } from './widget.ts'

export function serveWidget(app: FastifyInstance, dashboard: Dashboard): void {
  app.get<{ Params: { file: string } }>(`${widgetPlace}/:file`, async (request, reply) => {
    const shown = await dashboard.shown()
    if (shown.kind === 'building')
      throw new Refusal('unavailable', 'The widget is being built.', {
        headers: { 'retry-after': buildingRetryAfter },
      })
    const file = shown.kind === 'built' ? shown.build.widget.get(request.params.file) : undefined
    if (file === undefined) throw new Refusal('route_not_found')
    return sendFile(request, reply, file)
  })
}

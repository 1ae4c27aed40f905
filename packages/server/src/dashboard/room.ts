/**
 * The dashboard: static files, and one page at many addresses whose script calls the API like any other client.
 * `serve.ts` serves all: `dashboard.ts` holds the build or what happened to it, `read-build.ts` reads the files,
 * `notice.ts` and `link-notice.ts` have the pages without a build, `send-notice.ts` sends them, `policy.ts` has the
 * headers. `widget.ts` keeps the widget, which is built with the dashboard.
 */

import { join } from 'node:path'
import type { Room } from '../gate/room.ts'
import { checkout } from '../platform/host/reach.ts'
import type { Logger } from '../platform/observe/log.ts'
import { type BuildState, openDashboard } from './dashboard.ts'

interface Outside {
  readonly log: Logger
  /** Where it is built, and what is known of the build; by default, in the checkout. */
  readonly built: { readonly folder?: string; readonly state?: BuildState }
}

export const dashboard = {
  open: ({ log, built }: Outside) => ({
    dashboard: openDashboard(
      built.folder ?? join(checkout, 'packages/dashboard/dist'),
      built.state ?? { kind: 'built' },
      log,
    ),
  }),
} satisfies Room

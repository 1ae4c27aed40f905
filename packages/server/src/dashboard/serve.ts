import { mailedPages } from '@keyrail/contract/mailed-pages'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { sendFile } from '../platform/http/serve-static.ts'
import { Refusal } from '../platform/refusal.ts'
import type { Dashboard } from './dashboard.ts'
import { linkNotice } from './link-notice.ts'
import { buildingNotice, buildingRetryAfter, failedNotice } from './notice.ts'
import { pageHeadersWith } from './policy.ts'
import { sendNotice, unavailable } from './send-notice.ts'
import { widgetPlace } from './widget.ts'

/** What this room needs from outside; `deps.ts` has it. */
interface DashboardNeeds {
  readonly config: {
    readonly dashboard: 'on' | 'off'
    readonly passwordMinLength: number
    readonly signUp: 'open' | 'invited' | 'closed'
    readonly mail: { readonly route: { readonly kind: 'folder' | 'smtp' } }
  }
  /** Whether this installation waits for its first account. */
  readonly firstAccount: { isMissing(): Promise<boolean> }
  readonly dashboard: Dashboard
  readonly randomBytes: (size: number) => Buffer
}

function serveWidget(app: FastifyInstance, dashboard: Dashboard): void {
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

/**
 * What belongs to this very version: the manual, a page for each code of an error, to which `type` of a problem leads, and the
 * packages that a vendor installs.
 */
function serveBeside(app: FastifyInstance, dashboard: Dashboard): void {
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

const linkAddresses: readonly string[] = Object.values(mailedPages)

/** The addresses at which the page opens. */
const addresses = ['/app', '/app/*', ...linkAddresses]

const nonceBytes = 16

export function serveDashboard(app: FastifyInstance, needs: DashboardNeeds): void {
  const { config, dashboard, firstAccount, randomBytes } = needs
  if (config.dashboard === 'off') {
    serveLinkNotices(app)
    return
  }

  app.get('/', async (request, reply) => {
    reply.header('vary', 'Accept')
    // The router also matches the target of `GET *` to this path.
    if (!request.raw.url?.startsWith('/') || !isBrowser(request)) throw new Refusal('route_not_found')
    return reply.redirect('/app', 302)
  })

  /** Who may create an account; `first` while there is no account. */
  const signUpNow = async () =>
    config.signUp === 'open' && (await firstAccount.isMissing()) ? 'first' : config.signUp

  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    const shown = await dashboard.shown()
    if (shown.kind === 'building')
      return sendNotice(request, reply, buildingNotice, unavailable(buildingRetryAfter))
    if (shown.kind === 'failed') {
      const page = request.routeOptions.url ?? ''
      const notice = linkAddresses.includes(page) ? linkNotice(page, 'failed') : failedNotice
      return sendNotice(request, reply, notice, unavailable('60'))
    }
    const path = pathOf(request)
    if (hasDotSegment(path)) throw new Refusal('route_not_found')
    const file = shown.build.files.get(path)
    if (file !== undefined) return sendFile(request, reply, file)
    const nonce = randomBytes(nonceBytes).toString('base64')
    const html = shown.build.index
      .replaceAll('__CSP_NONCE__', nonce)
      .replaceAll('__PASSWORD_MIN_LENGTH__', String(config.passwordMinLength))
      .replaceAll('__SIGN_UP__', await signUpNow())
      .replaceAll('__MAIL__', config.mail.route.kind)
    return reply.headers({ ...pageHeadersWith(nonce), 'content-type': 'text/html; charset=utf-8' }).send(html)
  }
  for (const address of addresses) app.get(address, sendPage)
  serveWidget(app, dashboard)
  serveBeside(app, dashboard)

  app.get('/app/assets/*', async (request, reply) => {
    const shown = await dashboard.shown()
    if (shown.kind === 'building')
      throw new Refusal('unavailable', 'The dashboard is being built.', {
        headers: { 'retry-after': buildingRetryAfter },
      })
    const file = shown.kind === 'built' ? shown.build.files.get(`assets/${pathOf(request)}`) : undefined
    if (file === undefined) throw new Refusal('route_not_found')
    return sendFile(request, reply, file)
  })
}

/** Without a dashboard, a person who opens a mailed link reads why it opens nothing, and what to do. */
function serveLinkNotices(app: FastifyInstance): void {
  for (const page of linkAddresses)
    app.get(page, async (request, reply) => {
      reply.header('vary', 'Accept')
      const missing = new Refusal('route_not_found')
      if (!isBrowser(request)) throw missing
      return sendNotice(request, reply, linkNotice(page, 'off'), missing)
    })
}

/** The decoded path below the address; empty at the address itself. */
const pathOf = ({ params }: FastifyRequest): string => (params as { '*'?: string })['*'] ?? ''

/** Browsers never send one; no address of a page has one. */
const hasDotSegment = (path: string): boolean => /(?:^|[\\/])\.{1,2}(?:[\\/]|$)/.test(path)

/** Whether the caller names HTML among what it accepts, as browsers do when a person opens an address. */
const isBrowser = ({ headers }: FastifyRequest): boolean =>
  new Negotiator({ headers: { accept: headers.accept ?? '' } }).mediaTypes().includes('text/html')

import { mailedPages } from '@keyrail/contract/mailed-pages'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { sendFile } from '../platform/http/serve-static.ts'
import { Refusal } from '../platform/refusal.ts'
import { linkNotice } from './link-notice.ts'
import type { DashboardNeeds } from './needs.ts'
import { buildingNotice, buildingRetryAfter, failedNotice } from './notice.ts'
import { pageHeadersWith } from './policy.ts'
import { sendNotice, unavailable } from './send-notice.ts'
import { serveBeside } from './serve-beside.ts'
import { serveWidget } from './serve-widget.ts'

/**
 * The dashboard: static files, and one page at many addresses whose script calls the API like any other client.
 *
 * `dashboard.ts` holds the build or what happened to it, `read-build.ts` reads the files, `notice.ts` and `link-notice.ts`
 * have the pages without a build, `policy.ts` the headers. `widget.ts` keeps the widget, which is built with the dashboard, and
 * `serve-widget.ts` serves it. `serve-beside.ts` serves the manual and the packages, `send-notice.ts` sends a page in place of one that is not there.
 */

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

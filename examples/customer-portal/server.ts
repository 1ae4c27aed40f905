import { randomUUID } from 'node:crypto'
import { createEmbed } from '@keyrail/sdk'
import { embedHandler } from '@keyrail/sdk/express'
import express from 'express'
import { listenAsPortal, settings } from '../settings.ts'
import { type Customer, customers } from './customers.ts'
import { keysPage, policy, signInPage } from './pages.ts'

/** A vendor's portal: its customers sign in and manage their own keys. The secret key has the preset `embed`. */

const portal = express()
const sessions = new Map<string | undefined, Customer>()
const sessionOf = (cookie = '') => /portal=([\w-]+)/.exec(cookie)?.[1]

// All that the widget needs of a server: the signed-in customer decides whose keys the token is for.
const embed = createEmbed(settings)
const answerToken = embedHandler(embed, ({ headers }) => sessions.get(sessionOf(headers.cookie)) ?? null)
portal.post('/keyrail-token', answerToken)

portal.get('/', ({ headers }, response) => {
  const customer = sessions.get(sessionOf(headers.cookie))
  response.set('content-security-policy', policy).send(customer ? keysPage(customer) : signInPage())
})
portal.post('/sign-in', express.urlencoded(), ({ body }, response) => {
  const customer = customers.get(body.email)
  if (customer === undefined) return void response.status(401).send(signInPage(body.email))
  const session = randomUUID()
  sessions.set(session, customer)
  response.cookie('portal', session, { httpOnly: true, sameSite: 'strict' }).redirect('/')
})
portal.post('/sign-out', ({ headers }, response) => {
  sessions.delete(sessionOf(headers.cookie))
  response.redirect('/')
})
portal.use(express.static(`${import.meta.dirname}/public`))
listenAsPortal(portal)

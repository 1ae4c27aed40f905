import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { SignedIn } from '@keyrail/contract/people'
import type { CreatedInvite } from '@keyrail/contract/vendor/invites'
import type { JoinedMember } from '@keyrail/contract/vendor/members'
import type { CreatedWorkspace } from '@keyrail/contract/vendor/workspace'
import type { Static } from 'typebox'
import { type Conversation, expect, Surprise } from './talk.ts'

export const olive = 'olive@acme.example'
export const password = 'a walk in the park'

/** People sign up, open a workspace and invite a colleague, without the operator. */
export async function openWorkspace(talk: Conversation, mailFolder: string): Promise<{ token: string }> {
  await talk.ask({
    title: 'A person signs up; the answer is the same for every address',
    method: 'POST',
    path: '/v1/auth/users',
    token: null,
    body: { email: olive, password, name: 'Olive' },
    status: 202,
    show: ['status'],
  })
  await talk.ask({
    title: `She opens the link in her mail (in ${mailFolder}, as no mail server is set)`,
    method: 'POST',
    path: '/v1/auth/email_verifications/consume',
    token: null,
    body: { token: await mailedToken(mailFolder, olive) },
    status: 200,
    show: ['status'],
  })
  const session = await signIn(talk, 'She signs in', olive)
  const workspace = await talk.ask<Static<typeof CreatedWorkspace>>({
    title: 'She opens a workspace, with a first secret key for its backend',
    method: 'POST',
    path: '/v1/workspaces',
    token: session.token,
    body: { name: 'Acme', slug: 'acme' },
    status: 201,
    show: ['id', 'slug', 'secret_key.role', 'secret_key.key'],
  })

  const paul = 'paul@acme.example'
  await talk.ask<CreatedInvite>({
    title: 'She invites a colleague',
    method: 'POST',
    path: '/v1/invites',
    token: session.token,
    body: { email: paul, role: 'admin' },
    status: 201,
    show: ['email', 'role', 'status', 'expires_at'],
  })
  await talk.ask({
    title: 'He signs up',
    method: 'POST',
    path: '/v1/auth/users',
    token: null,
    body: { email: paul, password, name: 'Paul' },
    status: 202,
    show: ['status'],
  })
  const his = await signIn(talk, 'He signs in; his address is not verified yet', paul)
  expect(!his.user.email_verified, 'an address is verified by a mailed link')
  const joined = await talk.ask<JoinedMember>({
    title: 'He opens the invitation in his mail, which proves his address as well',
    method: 'POST',
    path: '/v1/auth/invites/accept',
    token: his.token,
    body: { token: await mailedToken(mailFolder, paul, 'Join ') },
    status: 200,
    show: ['email', 'role', 'workspace.slug'],
  })
  expect(joined.workspace.id === workspace.id, 'he is in her workspace')
  return { token: workspace.secret_key.key ?? '' }
}

const signIn = (talk: Conversation, title: string, email: string) =>
  talk.ask<SignedIn>({
    title,
    method: 'POST',
    path: '/v1/auth/sessions',
    token: null,
    body: { email, password },
    status: 201,
    show: ['user.email', 'user.email_verified', 'workspace_id'],
  })

/** Mail is sent after the answer. */
const patienceMs = 20_000
const lookMs = 50

/** The token of the link in the message to this address; each message has one line with it. */
async function mailedToken(folder: string, to: string, subject = ''): Promise<string> {
  for (const until = performance.now() + patienceMs; performance.now() < until; await setTimeout(lookMs)) {
    // The first message creates the folder.
    const names = existsSync(folder) ? readdirSync(folder) : []
    for (const name of names.filter(file => file.endsWith('.eml'))) {
      const source = readFileSync(join(folder, name), 'utf8')
      if (!source.includes(`\nTo: ${to}`) || !source.includes(`\nSubject: ${subject}`)) continue
      const [, token] = /#token=([\w.-]+)\r?$/m.exec(source) ?? []
      if (token !== undefined) return token
    }
  }
  throw new Surprise(`no mail to ${to} in ${folder}`)
}

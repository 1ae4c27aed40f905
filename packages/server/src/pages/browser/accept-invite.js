import { call, troubleOf } from './api.js'
import { faultsOfAddress, faultsOfAnswer, faultsOfNewPassword, faultsOfPassword } from './fields.js'
import { linkToken } from './link.js'
import { callSignedIn, signIn, signOut } from './session.js'
import { field, form, letSecretsBeShown, notify, onSubmit, tellFaults, turnTo } from './view.js'

const known = { email: field('email'), password: field('password') }
const fresh = { name: field('new-name'), email: field('new-email'), password: field('new-password') }

letSecretsBeShown()
if (linkToken === null) {
  turnTo({
    title: 'This link is not complete',
    lead: 'Open the link in the e-mail once more. Some programs break long links; then copy it whole.',
    tone: 'bad',
  })
}

for (const way of document.querySelectorAll('input[name="way"]')) {
  way.addEventListener('change', () => {
    const isNew = way instanceof HTMLInputElement && way.value === 'sign-up'
    const [from, to] = isNew ? [known, fresh] : [fresh, known]
    if (to.email.value === '') to.email.value = from.email.value
    form('sign-in').hidden = isNew
    form('sign-up').hidden = !isNew
    notify('')
  })
}

onSubmit(form('sign-in'), 'Signing in…', async () => {
  if (tellFaults([...faultsOfAddress(known.email), ...faultsOfPassword(known.password)])) return
  const signedIn = await signIn(known.email.value.trim(), known.password.value)
  if (signedIn.ok) await accept(signedIn.body.user.email)
  else if (signedIn.status === 401) tellFaults([[known.password, 'E-mail address or password is wrong.']])
  else if (signedIn.status === 400) tellFaults([[known.email, 'This is no e-mail address.']])
  else notify(troubleOf(signedIn), 'bad')
})

onSubmit(form('sign-up'), 'Making your account…', async () => {
  if (tellFaults([...faultsOfAddress(fresh.email), ...faultsOfNewPassword(fresh.password)])) return
  const email = fresh.email.value.trim()
  const name = fresh.name.value.trim()
  const password = fresh.password.value
  const made = await call('POST', 'auth/users', { body: { email, password, ...(name !== '' && { name }) } })
  if (!made.ok) {
    const faults = faultsOfAnswer(made.faults, {
      name: [fresh.name, 'The name'],
      email: [fresh.email, 'The address'],
      password: [fresh.password, 'The password'],
    })
    if (!tellFaults(faults)) notify(troubleOf(made), 'bad')
    return
  }
  const signedIn = await signIn(email, password)
  if (signedIn.ok) await accept(signedIn.body.user.email)
  else if (signedIn.status === 401) {
    const text = 'This address has an account with another password. Choose “Yes, sign in” above.'
    tellFaults([[fresh.email, text]])
  } else notify(troubleOf(signedIn), 'bad')
})

onSubmit(form('accept-again'), 'Accepting…', () => accept(null))

onSubmit(form('send-link'), 'Sending…', async () => {
  const sent = await callSignedIn('auth/email_verifications')
  if (sent.ok) notify('A link is on its way. Open it, then come back to this page.', 'good')
  else if (sent.status === 401) signedOut()
  else notify(troubleOf(sent), 'bad')
})

/**
 * Accepts as the person who is signed in, and signs out again unless it may still come to something.
 *
 * @param {string | null} address of the person; null where the page has told it already
 */
async function accept(address) {
  notify('Accepting…')
  const answer = await callSignedIn('auth/invites/accept', { token: linkToken })
  if (answer.code === 'email_not_verified') {
    if (address === null) notify('The address is not verified yet. Open the link in the e-mail first.', 'bad')
    else
      turnTo({
        title: 'Verify your address first',
        lead: `The invitation was sent to another address than ${address}, so this one must be verified before it can be used. Open the link that you were sent, in another tab, and come back. This page must stay open.`,
        part: 'unverified',
      })
    return
  }
  if (answer.status === 401) {
    signedOut()
    return
  }
  const outcome = outcomeOf(answer)
  if (outcome === null) {
    notify(troubleOf(answer), 'bad')
    return
  }
  await signOut()
  for (const one of ['sign-in', 'sign-up']) form(one).reset()
  turnTo(outcome)
}

/** @type {Record<string, string>} */
const roleNames = { owner: 'an owner', admin: 'an admin', member: 'a member' }

/**
 * @param {import('./api.js').Answer} answer
 * @returns {Parameters<typeof turnTo>[0] | null} null where it is not the end
 */
function outcomeOf({ ok, code, status, body }) {
  if (ok) {
    const title = `Welcome to ${body.workspace.name}`
    return {
      title,
      lead: `You have joined as ${roleNames[body.role] ?? body.role}. You can close this page.`,
      tone: 'good',
    }
  }
  if (code === 'already_member') {
    const lead = 'There is nothing left to do. You can close this page.'
    return { title: 'You are a member already', lead, tone: 'good' }
  }
  if (code === 'invalid_token' || status === 400) {
    const lead =
      'An invitation works once, for 7 days, until it is revoked. Ask whoever invited you for a new one.'
    return { title: 'This invitation is over', lead, tone: 'bad' }
  }
  return null
}

function signedOut() {
  turnTo({ title: 'You have been signed out', lead: 'Sign in once more to accept.', part: 'who' })
}

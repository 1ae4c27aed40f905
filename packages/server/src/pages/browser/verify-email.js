import { call, troubleOf } from './api.js'
import { faultsOfAddress, faultsOfPassword } from './fields.js'
import { linkToken } from './link.js'
import { callSignedIn, signIn, signOut } from './session.js'
import { field, form, letSecretsBeShown, notify, onSubmit, tellFaults, turnTo } from './view.js'

const [email, password] = [field('email'), field('password')]

letSecretsBeShown()
if (linkToken === null) {
  turnTo({
    title: 'This link is not complete',
    lead: 'Open the link in the e-mail once more. Some programs break long links; then copy it whole.',
    tone: 'bad',
    part: 'renew',
  })
}

// Not before a click: programs that look into mail open links, and must not use them up.
onSubmit(form('verify'), 'Verifying…', async () => {
  const answer = await call('POST', 'auth/email_verifications/consume', { body: { token: linkToken } })
  if (answer.ok) {
    turnTo({
      title: 'Your e-mail address is verified',
      lead: 'That is all. You can close this page.',
      tone: 'good',
    })
  } else if (answer.code === 'invalid_token' || answer.status === 400) {
    turnTo({
      title: 'This link has been used or has expired',
      lead: 'If you have verified your address already, there is nothing left to do. A link works once, for 24 hours, and only the newest one does.',
      tone: 'bad',
      part: 'renew',
    })
  } else notify(troubleOf(answer), 'bad')
})

onSubmit(form('renew'), 'Sending…', async () => {
  if (tellFaults([...faultsOfAddress(email), ...faultsOfPassword(password)])) return
  const address = email.value.trim()
  const signedIn = await signIn(address, password.value)
  if (signedIn.status === 401) {
    tellFaults([[password, 'E-mail address or password is wrong.']])
    return
  }
  if (signedIn.status === 400) {
    tellFaults([[email, 'This is no e-mail address.']])
    return
  }
  const sent = signedIn.ok ? await callSignedIn('auth/email_verifications') : signedIn
  await signOut()
  if (!sent.ok) {
    notify(troubleOf(sent), 'bad')
    return
  }
  password.value = ''
  if (signedIn.body.user.email_verified) {
    turnTo({
      title: 'Your e-mail address is verified already',
      lead: 'There is nothing left to do. You can close this page.',
      tone: 'good',
    })
  } else {
    turnTo({
      title: 'A new link is on its way',
      lead: `Look into the mailbox of ${signedIn.body.user.email}. The link works for 24 hours.`,
      tone: 'good',
    })
  }
})

import { call, troubleOf } from './api.js'
import { faultsOfAddress, faultsOfAnswer, faultsOfNewPassword } from './fields.js'
import { linkToken } from './link.js'
import { field, form, letSecretsBeShown, notify, onSubmit, tellFaults, turnTo } from './view.js'

const [password, repeat, email] = [field('password'), field('repeat'), field('email')]

letSecretsBeShown()
if (linkToken === null) {
  turnTo({
    title: 'Forgot your password?',
    lead: 'Type the address of your account, and a link to choose a new password is sent there. If you came by such a link, it was not complete.',
    part: 'renew',
  })
}

onSubmit(form('reset'), 'Changing…', async () => {
  const faults = faultsOfNewPassword(password)
  if (faults.length === 0 && repeat.value !== password.value)
    faults.push([repeat, 'This is not the same password.'])
  if (tellFaults(faults)) return
  const body = { token: linkToken, password: password.value }
  const answer = await call('POST', 'auth/password_resets/consume', { body })
  if (answer.ok) {
    form('reset').reset()
    turnTo({
      title: 'Your password is changed',
      lead: 'Every session of yours has ended. Sign in with the new password from now on; you can close this page.',
      tone: 'good',
    })
    return
  }
  if (tellFaults(faultsOfAnswer(answer.faults, { password: [password, 'The password'] }))) return
  if (answer.code === 'invalid_token' || answer.status === 400) {
    turnTo({
      title: 'This link has been used or has expired',
      lead: 'Your password is as it was. A link works once, for one hour, and only the newest one does.',
      tone: 'bad',
      part: 'renew',
    })
  } else notify(troubleOf(answer), 'bad')
})

onSubmit(form('renew'), 'Sending…', async () => {
  if (tellFaults(faultsOfAddress(email))) return
  const address = email.value.trim()
  const answer = await call('POST', 'auth/password_resets', { body: { email: address } })
  if (answer.ok) {
    turnTo({
      title: 'Look into your mailbox',
      lead: `If ${address} has an account, a link is on its way. It works for one hour.`,
      tone: 'good',
    })
  } else if (answer.status === 400) tellFaults([[email, 'This is no e-mail address.']])
  else notify(troubleOf(answer), 'bad')
})

const keys = document.querySelector('keyrail-keys')
const again = document.querySelector('dialog')

async function getToken() {
  const answer = await fetch('/keyrail-token', { method: 'POST' })
  if (!answer.ok) throw answer
  return (await answer.json()).token
}
keys.getToken = getToken

// Above an open form of the widget, so that what is typed stays.
keys.addEventListener('keyrail-session-ended', () => again.open || again.showModal())
again.querySelector('form').addEventListener('submit', async event => {
  event.preventDefault()
  try {
    await fetch('/sign-in', { method: 'POST', body: new URLSearchParams(new FormData(event.target)) })
  } catch {
    // Without a network the dialog stays, for another try.
    return
  }
  again.close()
  keys.refresh()
})

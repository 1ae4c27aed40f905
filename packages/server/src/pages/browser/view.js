/**
 * An element that the page is sure to have.
 *
 * @param {string} id
 */
export function element(id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no #${id}`)
  return found
}

/** @param {string} id */
export const form = id => /** @type {HTMLFormElement} */ (element(id))

/** @param {string} id */
export const field = id => /** @type {HTMLInputElement} */ (element(id))

/**
 * Says something that is not the end, beside what is there. It is read out where it changes.
 *
 * @param {string} text
 * @param {'busy' | 'bad' | 'good'} [tone]
 */
export function notify(text, tone = 'busy') {
  const notice = element('notice')
  notice.dataset.tone = tone
  notice.textContent = text
}

/**
 * Shows one part of the page in place of all others, under a heading of its own, to which the focus moves.
 *
 * @param {{title: string, lead: string, tone?: 'good' | 'bad', part?: string}} outcome
 */
export function turnTo({ title, lead, tone, part }) {
  for (const one of document.querySelectorAll('[data-part]')) {
    if (one instanceof HTMLElement) one.hidden = one.id !== part
  }
  const heading = element('title')
  heading.textContent = title
  document.title = `${title} · Keyrail`
  element('lead').textContent = lead
  const main = document.querySelector('main')
  if (tone === undefined) main?.removeAttribute('data-tone')
  else main?.setAttribute('data-tone', tone)
  notify('')
  heading.focus()
}

/**
 * Marks a field as wrong and says why beside it; an empty text takes that back.
 *
 * @param {HTMLInputElement} input
 * @param {string} text
 */
export function tellFault(input, text) {
  element(`${input.id}-fault`).textContent = text
  if (text === '') input.removeAttribute('aria-invalid')
  else input.setAttribute('aria-invalid', 'true')
}

/**
 * Tells the faults of a form's fields and moves to the first of them.
 *
 * @param {readonly (readonly [HTMLInputElement, string])[]} faults
 * @returns {boolean} whether there is any
 */
export function tellFaults(faults) {
  const [first] = faults
  for (const [input, text] of faults) tellFault(input, text)
  first?.[0].focus()
  return first !== undefined
}

/**
 * Runs a form's work when it is sent, once at a time. The button keeps the focus meanwhile.
 *
 * @param {HTMLFormElement} sent
 * @param {string} doing what is said meanwhile
 * @param {(button: HTMLElement | null) => Promise<void>} work
 */
export function onSubmit(sent, doing, work) {
  let isBusy = false
  sent.addEventListener('submit', async event => {
    event.preventDefault()
    if (isBusy) return
    isBusy = true
    for (const input of sent.querySelectorAll('input')) {
      if (document.getElementById(`${input.id}-fault`) !== null) tellFault(input, '')
    }
    hideSecrets(sent)
    const button = sent.querySelector('button:not([type="button"])')
    button?.setAttribute('aria-disabled', 'true')
    notify(doing)
    try {
      await work(event.submitter)
    } finally {
      // Unless something was said of how it went.
      if (element('notice').textContent === doing) notify('')
      button?.removeAttribute('aria-disabled')
      isBusy = false
    }
  })
}

/** Each box `Show password` shows the secret fields of its form. */
export function letSecretsBeShown() {
  for (const box of document.querySelectorAll('input[data-shows]')) {
    box.addEventListener('change', () => {
      if (!(box instanceof HTMLInputElement) || box.form === null) return
      for (const input of secretsOf(box.form)) input.type = box.checked ? 'text' : 'password'
    })
  }
}

/**
 * Before it is sent: a browser keeps what was typed into fields of text.
 *
 * @param {HTMLFormElement} sent
 */
function hideSecrets(sent) {
  for (const input of secretsOf(sent)) input.type = 'password'
  for (const box of sent.querySelectorAll('input[data-shows]')) {
    if (box instanceof HTMLInputElement) box.checked = false
  }
}

/** @param {HTMLFormElement} sent */
const secretsOf = sent =>
  /** @type {HTMLInputElement[]} */ ([...sent.querySelectorAll('input[autocomplete$="-password"]')])

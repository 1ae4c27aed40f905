/** The search of the guides. Its index is fetched once somebody begins to search. */
const box = document.querySelector('search')
const input = document.querySelector('#words')
const list = document.querySelector('#found')
const most = 12

/** @type {Promise<{ title: string, address: string, heading: string, anchor: string, text: string, folded: string }[]> | undefined} */
let index

async function readIndex() {
  const answer = await fetch('/guides/search.json')
  if (!answer.ok) throw new Error(`answered ${answer.status}`)
  const pages = await answer.json()
  return pages.flatMap(({ title, address, sections }) =>
    sections.map(section => ({
      title,
      address,
      ...section,
      folded: `${title} ${section.heading} ${section.text}`.toLowerCase(),
    })),
  )
}

/** Sections with all of the words; headings count more than text. */
function search(sections, words) {
  const scored = sections.flatMap(section => {
    const names = `${section.heading || section.title}`.toLowerCase()
    let score = section.heading === '' ? 1 : 0
    for (const word of words) {
      if (!section.folded.includes(word)) return []
      if (names.includes(word)) score += names.startsWith(word) ? 8 : 4
    }
    return [{ section, score }]
  })
  return scored.sort((a, b) => b.score - a.score).map(({ section }) => section)
}

function extract({ text }, word) {
  const at = text.toLowerCase().indexOf(word)
  const from = Math.max(0, text.lastIndexOf(' ', Math.max(0, at - 40)))
  return `${from > 0 ? '… ' : ''}${text.slice(from, from + 140).trim()}${text.length > from + 140 ? ' …' : ''}`
}

function show(found, words) {
  if (found.length === 0) {
    list.textContent = 'Nothing has these words.'
    return
  }
  const entries = found.slice(0, most).map(section => {
    const link = document.createElement('a')
    link.href = section.anchor === '' ? section.address : `${section.address}#${section.anchor}`
    const name = document.createElement('strong')
    name.textContent =
      section.heading === '' || section.heading === section.title
        ? section.title
        : `${section.title}: ${section.heading}`
    const text = document.createElement('span')
    text.textContent = extract(section, words[0])
    link.className = 'hit'
    link.append(name, text)
    return link
  })
  list.replaceChildren(...entries)
}

async function look() {
  const words = input.value
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '')
  if (words.length === 0) {
    list.replaceChildren()
    return
  }
  try {
    index ??= readIndex()
    const asked = input.value
    const sections = await index
    if (input.value === asked) show(search(sections, words), words)
  } catch {
    index = undefined
    list.textContent = 'The search could not be loaded. Type again to try once more.'
  }
}

input.addEventListener('input', look)
addEventListener('keydown', event => {
  if (event.key === 'Escape' && input.value !== '') {
    input.value = ''
    list.replaceChildren()
  }
  const isTyping = event.target instanceof HTMLInputElement
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault()
    input.focus()
  }
})
box.hidden = false

// On a narrow screen the contents would push the text away.
if (matchMedia('(max-width: 60rem)').matches) document.querySelector('.contents').open = false

// Who reads one sample in a language reads them all in that language.
const labels = [...document.querySelectorAll('.tabs label')]
addEventListener('change', ({ target }) => {
  const name = target instanceof HTMLInputElement ? target.labels?.[0]?.textContent : undefined
  if (target.type !== 'radio' || name === undefined) return
  for (const label of labels) if (label.textContent === name) label.control.checked = true
})

import type { Token, Tokens } from 'marked'
import { codeOf, toHtml } from './html.ts'

/**
 * The same in several languages: blocks of code that follow each other, each with a name behind its language (`go Go`), are tabs.
 * Where no style is loaded, and in the checkout, they stand below each other.
 */

interface Tabs {
  readonly type: 'tabs'
  readonly raw: string
  /** The same for no other tabs of the page. */
  readonly group: string
  readonly blocks: readonly Tokens.Code[]
}

const nameOf = (token: Token): string | undefined =>
  token.type === 'code' ? (token as Tokens.Code).lang?.split(' ').slice(1).join(' ') || undefined : undefined

/** Puts two or more named blocks that only blank lines separate into one token. */
export function gatherTabs(tokens: readonly Token[]): Token[] {
  const gathered: Token[] = []
  let blocks: Tokens.Code[] = []
  let groups = 0
  const close = () => {
    const [only] = blocks
    if (blocks.length > 1)
      gathered.push({ type: 'tabs', raw: '', group: `tabs-${++groups}`, blocks } satisfies Tabs)
    else if (only !== undefined) gathered.push(only)
    blocks = []
  }
  for (const token of tokens) {
    if (nameOf(token) !== undefined) blocks.push(token as Tokens.Code)
    else if (token.type !== 'space' || blocks.length === 0) {
      close()
      gathered.push(token)
    }
  }
  close()
  return gathered
}

/** Radio buttons choose without a script; `guides.js` makes the choice for the whole page. */
export function tabsOf(token: Tokens.Generic): string {
  const { group, blocks } = token as Tabs
  const choices = blocks.map((block, at) => {
    const id = `${group}-${at}`
    const checked = at === 0 ? ' checked' : ''
    return `<input type="radio" name="${group}" id="${id}"${checked}><label for="${id}">${toHtml(nameOf(block) ?? '')}</label>`
  })
  const panels = blocks.map(block => codeOf(block)).join('')
  return `<div class="tabs" role="radiogroup" aria-label="Language">${choices.join('')}\n${panels}</div>\n`
}
